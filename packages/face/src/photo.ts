/** The prepared picture of an avatar, decoded. The caller passes `sharp`, because this package has no dependencies. */
import type Sharp from "sharp";
import { PICTURE_SIZE } from "./picture.ts";

/** The colour behind the transparent parts of a picture. */
export const BACKGROUND = "#d5dbe3";

/**
 * The square in the middle of a picture, as RGB of `PICTURE_SIZE` × `PICTURE_SIZE` pixels. `originalSize`: the shorter side of the
 * picture before it was scaled.
 */
export type Photo = { pixels: Buffer; originalSize: number };

/** Decodes a picture. Rejects when it cannot be read. */
export const decodePhoto = async (sharp: typeof Sharp, bytes: Uint8Array): Promise<Photo> => {
  const image = sharp(bytes);
  const { width, height } = await image.metadata();
  const pixels = await image
    .resize(PICTURE_SIZE, PICTURE_SIZE, { fit: "cover" })
    .flatten({ background: BACKGROUND })
    .toColourspace("srgb")
    .raw()
    .toBuffer();
  return { pixels, originalSize: Math.min(width, height) };
};

/** The middle of a photo, enlarged. `scale`: at least 1. */
export const enlargePhoto = async (sharp: typeof Sharp, pixels: Uint8Array, scale: number): Promise<Buffer> => {
  const enlarged = Math.round(PICTURE_SIZE * scale);
  const offset = Math.floor((enlarged - PICTURE_SIZE) / 2);
  return sharp(pixels, { raw: { width: PICTURE_SIZE, height: PICTURE_SIZE, channels: 3 } })
    .resize(enlarged, enlarged)
    .extract({ left: offset, top: offset, width: PICTURE_SIZE, height: PICTURE_SIZE })
    .raw()
    .toBuffer();
};
