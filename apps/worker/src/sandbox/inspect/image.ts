/** Inspects an image, and encodes a public copy of it without metadata. Runs in a child process. */
import { ASSET_LIMITS, type ContentType } from "@realtime-avatar/domain/assets/limits";
import type Sharp from "sharp";
import { HEADER_CPU_SECONDS, type Refused, type Report, refused, type Task } from "../report.ts";
import { reduceExif } from "./exif.ts";
import { countScans, MAX_SCANS } from "./jpeg.ts";

const { maxPixels, maxFrames, maxPublicSide } = ASSET_LIMITS.image;

/** The quality of the public image, of 100. Artifacts around faces are not visible from 85. */
const PUBLIC_QUALITY = 90;

/** libvips has loaders for PDF, SVG, TIFF and more. Only these can be reached by a file. */
const LOADERS = ["VipsForeignLoadJpegBuffer", "VipsForeignLoadPngBuffer", "VipsForeignLoadWebpBuffer"];

/** Restricts sharp to what inspection needs. Call it once, before a file is read. */
export const restrict = (sharp: typeof Sharp): void => {
  sharp.block({ operation: ["VipsForeignLoad"] });
  sharp.unblock({ operation: LOADERS });
  sharp.cache(false);
  // One thread for each image: a worker inspects several at a time.
  sharp.concurrency(1);
};

/** The number of frames that a PNG declares: libvips ignores the chunk of animations, so it is read here (APNG, W3C PNG 3). */
const pngFrames = (bytes: Buffer): number => {
  for (let offset = 8; offset + 12 <= bytes.length; offset += 12 + bytes.readUInt32BE(offset)) {
    const type = bytes.toString("latin1", offset + 4, offset + 8);
    if (type === "acTL") return bytes.readUInt32BE(offset + 8);
    // The chunk is before the first image data.
    if (type === "IDAT") break;
  }
  return 1;
};

export const notDecodable = refused("not_decodable", "The image cannot be decoded: it is damaged or incomplete.");

/** Ends this process, as the kernel does at the limit of its processor time, when a header takes too much of that. */
const limitHeader = (): (() => void) => {
  const before = process.cpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(before);
    if (user + system > 1e6 * HEADER_CPU_SECONDS) process.kill(process.pid, "SIGXCPU");
  }, 100);
  return () => clearInterval(timer);
};

/**
 * Reads the header of an image, so that a decompression bomb is refused before it is decoded. A refusal for another format
 * than `contentType`, for too many pixels or frames, and for each error or warning of the decoder. Width and height are those
 * of the upright image. Changes `bytes`: what libvips parses of their metadata is bounded from then on.
 */
export const readHeader = async (
  sharp: typeof Sharp,
  bytes: Buffer,
  contentType: ContentType<"image">,
): Promise<Refused | { kind: "header"; width: number; height: number }> => {
  if (bytes.length === 0) return notDecodable;
  const scans = contentType === "image/jpeg" ? countScans(bytes) : 0;
  if (scans > MAX_SCANS) {
    return refused("not_decodable", `The image has ${scans} scans; the maximum is ${MAX_SCANS}.`);
  }
  reduceExif(bytes, contentType);
  const stop = limitHeader();
  const header = await sharp(bytes, { failOn: "warning", limitInputPixels: false })
    .metadata()
    .catch(() => null);
  stop();
  if (!header) return notDecodable;
  if (`image/${header.format}` !== contentType) {
    return refused("content_type_mismatch", `The file is not of the type ${contentType}.`);
  }
  const frames = header.format === "png" ? pngFrames(bytes) : (header.pages ?? 1);
  if (frames > maxFrames) {
    const detail = `The image has ${frames} frames; the maximum is ${maxFrames}. Export one of them as PNG.`;
    return refused("too_many_frames", detail, frames);
  }
  const { width, height } = header.autoOrient;
  if (width * height > maxPixels) {
    const detail = `The image has ${width} x ${height} = ${width * height} pixels; the maximum is ${maxPixels}.`;
    return refused("too_many_pixels", detail, width * height);
  }
  return { kind: "header", width, height };
};

/**
 * The facts of an image, and its public copy as WebP, at most `maxPublicSide` pixels on a side, turned as its EXIF data say.
 * A refusal for what `readHeader` refuses, and for each error or warning of the decoder.
 */
export const inspectImage = async (
  sharp: typeof Sharp,
  bytes: Buffer,
  { contentType }: Task<"image">,
): Promise<{ report: Report<"image">; publicImage: Buffer | null }> => {
  const header = await readHeader(sharp, bytes, contentType);
  if (header.kind === "refused") return { report: header, publicImage: null };
  const side = { width: maxPublicSide, height: maxPublicSide };
  const encoded = await sharp(bytes, { failOn: "warning", limitInputPixels: maxPixels })
    .autoOrient()
    .resize({ ...side, fit: "inside", withoutEnlargement: true })
    .webp({ quality: PUBLIC_QUALITY })
    .toBuffer({ resolveWithObject: true })
    .catch(() => null);
  if (!encoded) return { report: notDecodable, publicImage: null };
  const { data, info } = encoded;
  const report = {
    kind: "accepted",
    width: header.width,
    height: header.height,
    publicWidth: info.width,
    publicHeight: info.height,
    publicBytes: data.length,
  } as const;
  return { report, publicImage: data };
};
