/**
 * Decodes images. Decides which warnings of a decoder are errors, and converts the colours of the pixels. Runs in a
 * child process.
 */
import type { Sharp as Picture, default as Sharp, SharpOptions } from "sharp";
import { type Colors, isSrgb, toSrgb } from "../measure/light.ts";

/** The properties of an image that the decoder must know before it decodes. */
export type ImageFormat = {
  /** The depth according to `metadata` of sharp. */
  depth: string;
  channels: number;
  /**
   * The colour space that the file names by code points; null when it names one by a profile, or names no colour space.
   */
  colors: Colors | null;
};

/** The format of most images. */
export const EIGHT_BITS: ImageFormat = { depth: "uchar", channels: 3, colors: null };

/** `side`: the side of the largest picture that is needed. */
export type DecodeLimits = { side: number; maxPixels: number };

/** Warnings of libjpeg after which a part of the picture is missing. */
const DAMAGE = /premature end|bad Huffman code|instead of RST/;

type FailOn = "warning" | "error";

/**
 * Decodes an image. Throws for each error, and for a warning that a part of the picture is missing. Other warnings
 * concern data that cameras write and no decoder needs: bytes between segments, an unknown transformation in the marker
 * of Adobe.
 */
const decodeWhole = async <Result>(decode: (failOn: FailOn) => Promise<Result>): Promise<Result> => {
  try {
    return await decode("warning");
  } catch (error) {
    if (DAMAGE.test((error as Error).message)) throw error;
    return decode("error");
  }
};

/** The upright picture, never enlarged. */
const upright = (sharp: typeof Sharp, bytes: Buffer, limits: DecodeLimits, options: SharpOptions): Picture =>
  sharp(bytes, { ...options, limitInputPixels: limits.maxPixels })
    .autoOrient()
    .resize({ width: limits.side, height: limits.side, fit: "inside", withoutEnlargement: true });

type Decode<Result> = (picture: Picture) => Promise<Result>;

/**
 * Decodes an image as sRGB by its profile. sharp converts an image of 16 bits with a profile to Display P3, but treats
 * the result as sRGB. It ignores the profile of a grey image. So such images are converted to 8 bits before the profile
 * is applied.
 */
const byProfile = <Result>(picture: Picture, { depth, channels }: ImageFormat, decode: Decode<Result>) =>
  decode(depth === "ushort" ? picture.pipelineColourspace(channels < 3 ? "b-w" : "srgb") : picture);

/** Decodes an image whose colour space is named by code points. */
const byCodePoints = async <Result>(
  sharp: typeof Sharp,
  picture: Picture,
  { depth, colors }: { depth: string; colors: Colors },
  decode: Decode<Result>,
): Promise<Result> => {
  const flat = picture.flatten({ background: "#ffffff" });
  const is16Bits = depth === "ushort";
  const { data, info } = await (is16Bits
    ? flat.toColourspace("rgb16").raw({ depth: "ushort" })
    : flat.toColourspace("srgb").raw()
  ).toBuffer({ resolveWithObject: true });
  const pixels = is16Bits
    ? new Uint16Array(data.buffer, data.byteOffset, data.length / 2)
    : Uint16Array.from(data, (value) => 257 * value);
  const { width, height } = info;
  return decode(sharp(toSrgb(pixels, colors), { raw: { width, height, channels: 3 } }));
};

/**
 * Decodes an image upright, in sRGB with 8 bits, scaled down to `side`; `decode` produces the needed form of the
 * picture. Throws for each error of the decoder.
 */
export const decodeUpright = <Result>(
  sharp: typeof Sharp,
  bytes: Buffer,
  format: ImageFormat,
  limits: DecodeLimits,
  decode: Decode<Result>,
): Promise<Result> =>
  decodeWhole((failOn) => {
    const { depth, colors } = format;
    if (colors === null) return byProfile(upright(sharp, bytes, limits, { failOn }), format, decode);
    const picture = upright(sharp, bytes, limits, { failOn, ignoreIcc: true });
    return isSrgb(colors) ? decode(picture) : byCodePoints(sharp, picture, { depth, colors }, decode);
  });
