/** The prepared picture of an avatar, decoded for a renderer. */
import { wholePicture } from "@realtime-avatar/domain/avatars/preparation";
import { BACKGROUND, decodePhoto, enlargePhoto } from "@realtime-avatar/face/photo";
import type { RendererCall } from "./renderer.ts";
import { loadSharp } from "./sharp.ts";

/** Shown for an avatar without a picture. */
const OUTLINE = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 512 512" width="512" height="512">
  <rect width="512" height="512" fill="${BACKGROUND}"/>
  <circle cx="256" cy="200" r="88" fill="#5b6b80"/>
  <path d="M76 512c0-120 80-190 180-190s180 70 180 190z" fill="#5b6b80"/>
</svg>`);

/** The pixels of a picture. `originalSize`: see `decodePhoto`; null for the outline. */
export type Photo = { pixels: Buffer; originalSize: number | null };

/** Loads and decodes the picture that a manifest names. Throws when it cannot be read. */
export const loadPhoto = async (
  { manifest }: RendererCall["avatar"],
  load: (file: string) => Promise<Uint8Array>,
): Promise<Photo> => {
  const file = wholePicture(manifest);
  const { pixels, originalSize } = await decodePhoto(loadSharp(), file === null ? OUTLINE : await load(file));
  return { pixels, originalSize: file === null ? null : originalSize };
};

/** The enlarged middle of a photo. `scale`: at least 1. */
export const enlarge = ({ pixels }: Photo, scale: number): Promise<Buffer> => enlargePhoto(loadSharp(), pixels, scale);
