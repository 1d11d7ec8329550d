/**
 * Images for tests: valid ones, and hostile ones that a decoder must survive. All are generated, so no file is stored.
 */
import { crc32, deflateSync } from "node:zlib";
import sharp, { type Sharp } from "sharp";

/** A picture with detail: a gradient with deterministic noise. */
export const picture = (width = 96, height = 64, channels: 3 | 4 = 3): Sharp => {
  const bytes = Buffer.alloc(width * height * channels);
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = (index * 31 + (index >> 7) * 17) & 255;
  return sharp(bytes, { raw: { width, height, channels } });
};

export const jpeg = (width?: number, height?: number): Promise<Buffer> => picture(width, height).jpeg().toBuffer();
export const png = (width?: number, height?: number): Promise<Buffer> => picture(width, height).png().toBuffer();
export const webp = (width?: number, height?: number): Promise<Buffer> => picture(width, height).webp().toBuffer();

/** The content of the EXIF data of `tagged`. */
export const CAMERA = "Secret Camera 9000";

/** A JPEG that is stored lying on its side, with a camera and a place in its EXIF data. */
export const tagged = (): Promise<Buffer> =>
  picture(96, 64)
    .withExif({
      IFD0: { Make: CAMERA },
      IFD3: { GPSLatitudeRef: "N", GPSLatitude: "48/1 51/1 30/1", GPSLongitudeRef: "E", GPSLongitude: "2/1 17/1 40/1" },
    })
    .withMetadata({ orientation: 6 })
    .withXmp(`<x:xmpmeta xmlns:x="adobe:ns:meta/">${CAMERA}</x:xmpmeta>`)
    .jpeg()
    .toBuffer();

export const animatedWebp = (): Promise<Buffer> =>
  animated()
    .webp({ loop: 0, delay: [100, 100] })
    .toBuffer();
export const gif = (): Promise<Buffer> =>
  animated()
    .gif({ delay: [100, 100] })
    .toBuffer();
const animated = () => {
  const [width, pageHeight] = [32, 32];
  const bytes = Buffer.alloc(width * pageHeight * 2 * 3);
  bytes.fill(200, bytes.length / 2);
  return sharp(bytes, { raw: { width, height: 2 * pageHeight, channels: 3, pageHeight } });
};

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const chunk = (type: string, data: Uint8Array): Buffer => {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
};

type PngOptions = {
  width: number;
  height: number;
  bits?: 1 | 8 | 16;
  color?: 0 | 2 | 6;
  extra?: Buffer[];
  data?: Uint8Array;
};
const CHANNELS = { 0: 1, 2: 3, 6: 4 };

/** A PNG written by hand: all zeros unless `data` is given. `extra` chunks are before the image data. */
export const rawPng = ({ width, height, bits = 8, color = 0, extra = [], data }: PngOptions): Buffer => {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([bits, color, 0, 0, 0], 8);
  const rowBytes = 1 + Math.ceil((width * bits * CHANNELS[color]) / 8);
  const pixels = data ?? deflateSync(Buffer.alloc(rowBytes * height), { level: 9 });
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    ...extra,
    chunk("IDAT", pixels),
    chunk("IEND", Buffer.alloc(0)),
  ]);
};

/** A PNG of one pixel after which a second frame follows (APNG). */
export const apng = (): Buffer => {
  const control = Buffer.alloc(8);
  control.writeUInt32BE(2);
  return rawPng({ width: 1, height: 1, extra: [chunk("acTL", control)] });
};

const compressed = (prefix: string, bytes: number): Buffer =>
  Buffer.concat([Buffer.from(prefix, "latin1"), deflateSync(Buffer.alloc(bytes, "a"), { level: 9 })]);
export const iccBomb = (bytes: number): Buffer =>
  rawPng({ width: 8, height: 8, color: 2, extra: [chunk("iCCP", compressed("p\0\0", bytes))] });
export const textBomb = (bytes: number): Buffer =>
  rawPng({
    width: 8,
    height: 8,
    extra: [chunk("zTXt", compressed("k\0\0", bytes)), chunk("iTXt", compressed("k\0\x01\0\0\0", bytes))],
  });
/** A PNG with small texts, each of which expands to `bytes`. The decoder keeps all of them. */
export const manyTexts = (count: number, bytes: number): Buffer =>
  rawPng({ width: 8, height: 8, extra: new Array<Buffer>(count).fill(chunk("zTXt", compressed("k\0\0", bytes))) });
export const manyChunks = (count: number): Buffer =>
  rawPng({ width: 8, height: 8, extra: new Array<Buffer>(count).fill(chunk("tEXt", Buffer.from("k\0v"))) });

/** A JPEG whose frame header claims another size. */
export const resizedJpeg = async (width: number, height: number): Promise<Buffer> => {
  const file = await jpeg();
  // The baseline frame header: marker, length, precision, height, width.
  const frame = file.indexOf(Buffer.from([0xff, 0xc0, 0, 17, 8]));
  file.writeUInt16BE(height, frame + 5);
  file.writeUInt16BE(width, frame + 7);
  return file;
};

/**
 * A JPEG whose scan claims to have only the first coefficient (spectral selection from 0 to 0). Some phones write this.
 */
export const oddScans = (jpeg: Buffer): Buffer => {
  const file = Buffer.from(jpeg);
  const scan = file.indexOf(Buffer.from([0xff, 0xda]));
  // The last three bytes of its head: first and last coefficient, and bits of approximation.
  file.set([0, 0, 0], scan + 2 + file.readUInt16BE(scan + 2) - 3);
  return file;
};

/** A JPEG without its end, with other bytes and an end. */
export const withEnd = (jpeg: Buffer, bytes = Buffer.alloc(0)): Buffer =>
  Buffer.concat([jpeg, bytes, Buffer.from([0xff, 0xd9])]);

/** A PNG with one more chunk after its header. */
export const withChunk = (png: Buffer, type: string, content: Buffer): Buffer =>
  Buffer.concat([png.subarray(0, 33), chunk(type, content), png.subarray(33)]);

/** A progressive JPEG whose last scan is repeated: few bytes that take long to decode. */
export const manyScans = async (scans: number): Promise<Buffer> => {
  const file = await picture(2000, 2000).jpeg({ progressive: true, quality: 20 }).toBuffer();
  const last = file.lastIndexOf(Buffer.from([0xff, 0xda]));
  const scan = file.subarray(last, file.length - 2);
  const end = file.subarray(file.length - 2);
  const repeated = new Array<Buffer>(Math.min(scans, Math.floor(15e6 / scan.length))).fill(scan);
  return Buffer.concat([file.subarray(0, last), ...repeated, end]);
};

/** An extended WebP with a canvas of `side` x `side` pixels and no image. */
export const emptyWebp = (side: number): Buffer => {
  const file = Buffer.alloc(30);
  file.write("RIFF", 0, "latin1");
  file.writeUInt32LE(22, 4);
  file.write("WEBPVP8X", 8, "latin1");
  file.writeUInt32LE(10, 16);
  file.writeUIntLE(side - 1, 24, 3);
  file.writeUIntLE(side - 1, 27, 3);
  return file;
};
