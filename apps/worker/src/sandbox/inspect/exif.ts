/**
 * The EXIF data of an image. libvips parses all of them, although only the orientation is needed. An entry may point to
 * its own directory: 500 such entries cost libvips more than 30 s. So only the orientation remains in the data before
 * libvips reads them. The data keep their place and length, so the rest of the file is unchanged.
 */
import { crc32 } from "node:zlib";
import type { ContentType } from "@realtime-avatar/domain/assets/limits";
import { isScan, jpegSegments } from "./jpeg.ts";

const ORIENTATION = 0x0112;
const SHORT = 3;
const PREFIX = Buffer.from("Exif\0\0", "latin1");

/** The orientation in the first directory of TIFF data (TIFF 6.0); without one, 1 (upright). */
const orientationOf = (tiff: Buffer): number => {
  const isLittle = tiff.toString("latin1", 0, 2) === "II";
  const short = (at: number): number => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  if (tiff.length < 8) return 1;
  const directory = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  if (directory + 2 > tiff.length) return 1;
  const count = short(directory);
  for (let entry = 0, at = directory + 2; entry < count && at + 12 <= tiff.length; entry++, at += 12) {
    if (short(at) === ORIENTATION && short(at + 2) === SHORT) return short(at + 8);
  }
  return 1;
};

/** TIFF data with only an orientation. */
const tiffOf = (orientation: number): Buffer => {
  const tiff = Buffer.alloc(26);
  tiff.write("II*\0", 0, "latin1");
  tiff.writeUInt32LE(8, 4);
  tiff.writeUInt16LE(1, 8);
  tiff.writeUInt16LE(ORIENTATION, 10);
  tiff.writeUInt16LE(SHORT, 12);
  tiff.writeUInt32LE(1, 14);
  tiff.writeUInt16LE(orientation, 18);
  return tiff;
};

/**
 * Replaces EXIF data, with or without their prefix. Data that are too short for an orientation are also too short for a
 * loop.
 */
const reduce = (exif: Buffer): void => {
  const hasPrefix = exif.subarray(0, 4).equals(PREFIX.subarray(0, 4));
  const tiff = tiffOf(orientationOf(hasPrefix ? exif.subarray(PREFIX.length) : exif));
  const reduced = hasPrefix ? Buffer.concat([PREFIX, tiff]) : tiff;
  if (exif.length < reduced.length) return;
  exif.fill(0);
  exif.set(reduced);
};

const APP1 = 0xe1;

const reduceJpeg = (bytes: Buffer): void => {
  for (const segment of jpegSegments(bytes)) {
    if (isScan(segment)) return;
    const { marker, content } = segment;
    if (marker === APP1 && content.toString("latin1", 0, 4) === "Exif") reduce(content);
  }
};

const reducePng = (bytes: Buffer): void => {
  for (let at = 8; at + 12 <= bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    const end = at + 8 + bytes.readUInt32BE(at);
    if (bytes.toString("latin1", at + 4, at + 8) !== "eXIf" || end + 4 > bytes.length) continue;
    reduce(bytes.subarray(at + 8, end));
    bytes.writeUInt32BE(crc32(bytes.subarray(at + 4, end)), end);
  }
};

const reduceWebp = (bytes: Buffer): void => {
  for (let at = 12; at + 8 <= bytes.length; ) {
    const size = bytes.readUInt32LE(at + 4);
    if (bytes.toString("latin1", at, at + 4) === "EXIF") reduce(bytes.subarray(at + 8, at + 8 + size));
    // A chunk of an odd size is followed by a byte of padding.
    at += 8 + size + (size % 2);
  }
};

const REDUCE: Record<ContentType<"image">, (bytes: Buffer) => void> = {
  "image/jpeg": reduceJpeg,
  "image/png": reducePng,
  "image/webp": reduceWebp,
};

/** Reduces the EXIF data of an image, in place, to its orientation. */
export const reduceExif = (bytes: Buffer, contentType: ContentType<"image">): void => REDUCE[contentType](bytes);
