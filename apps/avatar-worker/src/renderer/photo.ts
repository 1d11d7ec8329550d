/** The prepared picture of an avatar, decoded for a renderer. */
import { wholePicture } from "@realtime-avatar/domain/avatars/preparation";
import { PICTURE_SIZE } from "@realtime-avatar/face/picture";
import type { RendererCall } from "./renderer.ts";
import { loadSharp } from "./sharp.ts";

/** Shown for an avatar without a picture. */
const OUTLINE = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 512 512" width="512" height="512">
  <rect width="512" height="512" fill="#d5dbe3"/>
  <circle cx="256" cy="200" r="88" fill="#5b6b80"/>
  <path d="M76 512c0-120 80-190 180-190s180 70 180 190z" fill="#5b6b80"/>
</svg>`);

/**
 * Three bytes per pixel: red, green and blue. `size`: width and height. `originalSize`: the shorter side of the prepared picture, of
 * which this is the square in the middle; null for the outline.
 */
export type Photo = { pixels: Buffer; size: number; originalSize: number | null };

/** Loads and decodes the picture that a manifest names. Throws when it cannot be read. */
export const loadPhoto = async (
  { manifest }: RendererCall["avatar"],
  load: (file: string) => Promise<Uint8Array>,
): Promise<Photo> => {
  const sharp = loadSharp();
  const file = wholePicture(manifest);
  const image = sharp(file === null ? OUTLINE : await load(file));
  const { width, height } = await image.metadata();
  const pixels = await image
    .resize(PICTURE_SIZE, PICTURE_SIZE, { fit: "cover" })
    .flatten({ background: "#d5dbe3" })
    .toColourspace("srgb")
    .raw()
    .toBuffer();
  return { pixels, size: PICTURE_SIZE, originalSize: file === null ? null : Math.min(width, height) };
};

/** The middle of a photo, enlarged. `scale`: at least 1. */
export const enlarge = async ({ pixels, size }: Photo, scale: number): Promise<Buffer> => {
  const enlarged = Math.round(size * scale);
  const offset = Math.floor((enlarged - size) / 2);
  return loadSharp()(pixels, { raw: { width: size, height: size, channels: 3 } })
    .resize(enlarged, enlarged)
    .extract({ left: offset, top: offset, width: size, height: size })
    .raw()
    .toBuffer();
};
