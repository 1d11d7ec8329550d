/** Inspects an image, and encodes a public copy of it without metadata. Runs in a child process. */
import { ASSET_LIMITS, type ContentType } from "@realtime-avatar/domain/assets/limits";
import type Sharp from "sharp";
import { HEADER_CPU_SECONDS, type Refused, type Report, refused, type Task } from "../report.ts";
import { decodeUpright, type ImageFormat } from "./decode.ts";
import { reduceExif } from "./exif.ts";
import { correctScans, countScans, MAX_SCANS } from "./jpeg.ts";
import { pngColors, pngFrames } from "./png.ts";

const { maxPixels, maxFrames, maxPublicSide } = ASSET_LIMITS.image;

/** The quality of the public image, of 100. Artifacts around faces are not visible from 85. */
const PUBLIC_QUALITY = 90;

/** libvips has loaders for PDF, SVG, TIFF and more. A file can reach only these. */
const LOADERS = ["VipsForeignLoadJpegBuffer", "VipsForeignLoadPngBuffer", "VipsForeignLoadWebpBuffer"];

/** Restricts sharp to the loaders that inspection needs. Call this once, before a file is read. */
export const restrict = (sharp: typeof Sharp): void => {
  sharp.block({ operation: ["VipsForeignLoad"] });
  sharp.unblock({ operation: LOADERS });
  sharp.cache(false);
  // One thread for each image, because a worker inspects several at a time.
  sharp.concurrency(1);
};

export const notDecodable = refused(
  "not_decodable",
  "The image cannot be decoded: it is damaged or incomplete.",
  "Upload it again, or export it anew as JPEG or PNG.",
);

/** The advice for a file that a decoder or this service does not accept in its present form. */
const EXPORT = "Export it anew as JPEG or PNG.";

/** The advice for too many pixels. The face of an avatar needs far fewer. */
const SMALLER = `Scale it down to at most ${maxPublicSide} pixels on its longer side: an avatar needs no more.`;

/**
 * Ends this process when a header takes too much processor time, in the same way as the kernel at the limit of
 * processor time.
 */
const limitHeader = (): (() => void) => {
  const before = process.cpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(before);
    if (user + system > 1e6 * HEADER_CPU_SECONDS) process.kill(process.pid, "SIGXCPU");
  }, 100);
  return () => clearInterval(timer);
};

/** `width`, `height`: the size of the upright image. */
export type ImageHeader = { kind: "header"; width: number; height: number; format: ImageFormat };

/**
 * Reads the header of an image, so that a decompression bomb is refused before it is decoded. Refuses another format
 * than `contentType`, too many pixels or frames, and each error of the decoder. Width and height are those of the
 * upright image. Changes `bytes`, so that the metadata that libvips parses are bounded.
 */
export const readHeader = async (
  sharp: typeof Sharp,
  bytes: Buffer,
  contentType: ContentType<"image">,
): Promise<Refused | ImageHeader> => {
  if (bytes.length === 0) return notDecodable;
  const scans = contentType === "image/jpeg" ? countScans(bytes) : 0;
  if (scans > MAX_SCANS) {
    return refused("not_decodable", `The image has ${scans} scans; the maximum is ${MAX_SCANS}.`, EXPORT);
  }
  reduceExif(bytes, contentType);
  if (contentType === "image/jpeg") correctScans(bytes);
  const stop = limitHeader();
  const header = await sharp(bytes, { failOn: "error", limitInputPixels: false })
    .metadata()
    .catch(() => null);
  stop();
  if (!header) return notDecodable;
  if (`image/${header.format}` !== contentType) {
    return refused("content_type_mismatch", `The file begins as ${contentType}, but is of another type.`, EXPORT);
  }
  const frames = header.format === "png" ? pngFrames(bytes) : (header.pages ?? 1);
  if (frames > maxFrames) {
    const facts = `The image has ${frames} frames; the maximum is ${maxFrames}.`;
    return refused("too_many_frames", facts, "Export one of them as PNG.", frames);
  }
  const { width, height } = header.autoOrient;
  if (width * height > maxPixels) {
    const measured = `The image has ${width} x ${height} = ${width * height} pixels; the maximum is ${maxPixels}`;
    return refused("too_many_pixels", `${measured}.`, SMALLER, width * height);
  }
  const { depth, channels } = header;
  const colors = header.format === "png" ? pngColors(bytes) : null;
  return { kind: "header", width, height, format: { depth, channels, colors } };
};

/**
 * The facts of an image, and its public copy as WebP, at most `maxPublicSide` pixels on a side, turned as its EXIF data
 * say. Refuses the same files as `readHeader`, and each error of the decoder.
 */
export const inspectImage = async (
  sharp: typeof Sharp,
  bytes: Buffer,
  { contentType }: Task<"image">,
): Promise<{ report: Report<"image">; publicImage: Buffer | null }> => {
  const header = await readHeader(sharp, bytes, contentType);
  if (header.kind === "refused") return { report: header, publicImage: null };
  const limits = { side: maxPublicSide, maxPixels };
  const encoded = await decodeUpright(sharp, bytes, header.format, limits, (picture) =>
    picture.webp({ quality: PUBLIC_QUALITY }).toBuffer({ resolveWithObject: true }),
  ).catch(() => null);
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
