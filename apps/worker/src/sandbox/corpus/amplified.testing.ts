/**
 * Small files. A few of their bytes cost a decoder or a reader minutes, unless they are bounded before they are read.
 */
import { jpeg } from "./images.testing.ts";
import { video } from "./media.testing.ts";

/** EXIF data in which `count` entries of the first directory point to it. */
export const loopingExif = (count: number): Buffer => {
  const POINTERS = [0x8769, 0x8825, 0xa005]; // Exif, GPS, interoperability
  const bytes = Buffer.alloc(14 + 12 * count);
  bytes.write("II*\0", 0, "latin1");
  bytes.writeUInt32LE(8, 4);
  bytes.writeUInt16LE(count, 8);
  for (let entry = 0; entry < count; entry += 1) {
    const at = 10 + 12 * entry;
    bytes.writeUInt16LE(POINTERS[entry % 3] ?? 0, at);
    bytes.writeUInt16LE(4, at + 2);
    bytes.writeUInt32LE(1, at + 4);
    bytes.writeUInt32LE(8, at + 8);
  }
  return bytes;
};

/** A JPEG with these EXIF data. */
export const jpegWithExif = async (exif: Buffer): Promise<Buffer> => {
  const file = await jpeg(600, 600);
  const segment = Buffer.concat([Buffer.from("\xff\xe1\0\0Exif\0\0", "latin1"), exif]);
  segment.writeUInt16BE(segment.length - 2, 2);
  return Buffer.concat([file.subarray(0, 2), segment, file.subarray(2)]);
};

/** A segment of a JPEG. */
const segment = (marker: number, ...content: number[]): number[] => [0xff, marker, 0, content.length + 2, ...content];

/**
 * A grey JPEG of 64 x 64 pixels in 883 scans: one for each bit of each coefficient. Each scan is valid and has a few
 * bytes.
 */
export const manyScans = (): Buffer => {
  const table = (name: number, symbol: number): number[] => segment(0xc4, name, 1, ...new Array(15).fill(0), symbol);
  const bytes = [0xff, 0xd8, ...segment(0xdb, 0, ...new Array(64).fill(1))];
  bytes.push(...segment(0xc2, 8, 0, 64, 0, 64, 1, 1, 0x11, 0), ...table(0, 0), ...table(0x10, 0x60));
  bytes.push(...segment(0xda, 1, 1, 0, 0, 0, 0), ...new Array(8).fill(0));
  for (let coefficient = 1; coefficient < 64; coefficient += 1) {
    for (let bit = 13; bit >= 0; bit -= 1) {
      const before = bit === 13 ? 0 : bit + 1;
      // One run that ends all 64 blocks.
      bytes.push(...segment(0xda, 1, 1, 0, coefficient, coefficient, (before << 4) | bit), 1);
    }
  }
  return Buffer.from([...bytes, 0xff, 0xd9]);
};

/**
 * A video of 100 s. `offset`: the offset of the value from the name of the table. Each entry of the table has `words`
 * 32-bit words.
 */
const videoWithTable = async (name: string, offset: number, words: number, value: number): Promise<Buffer> => {
  const file = await video({ seconds: 100 });
  const at = file.indexOf(name);
  const count = file.readUInt32BE(at + 8);
  for (let entry = 0; entry < count; entry += 1) file.writeUInt32BE(value, at + offset + 4 * words * entry);
  return file;
};

/** A video whose chunks have two billion samples each. */
export const hugeChunks = (): Promise<Buffer> => videoWithTable("stsc", 16, 3, 0x7fff_ffff);
/** A video with four billion samples, which have times. */
export const manyTimes = (): Promise<Buffer> => videoWithTable("stts", 12, 2, 0xffff_ffff);
