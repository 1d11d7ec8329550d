/** The moving preview of a face. Runs in a child process. */

import { PICTURE_SIZE, toI420 } from "@realtime-avatar/face/picture";
import { drawPreview, PREVIEW_PICTURES_PER_SECOND, PREVIEW_SIZE } from "@realtime-avatar/face/preview";
import { openFace } from "@realtime-avatar/face/warp/face";
import type Sharp from "sharp";
import type { Picture, Point } from "./faces.ts";

/** The side of the picture from which a preview is made. */
export const FACE_SIDE = PICTURE_SIZE;
/** Artifacts of a moving face are less visible than those of a still one. */
const QUALITY = 75;
/** From 0 to 6. The value 4 takes 1.5 times as long and saves a twentieth of the bytes. */
const EFFORT = 2;

/**
 * An animated WebP of two seconds that loops; null for a mesh that no face can have. `picture` has `FACE_SIDE` ×
 * `FACE_SIDE` pixels. `label`: see `createMarks`. Equal pictures give equal bytes.
 */
export const animate = async (
  sharp: typeof Sharp,
  { picture, mesh }: { picture: Picture; mesh: readonly Point[] },
  label: string,
): Promise<Buffer | null> => {
  const open = () => {
    try {
      return openFace(toI420(picture.data), Float32Array.from(mesh.flat()));
    } catch (error) {
      if (error instanceof RangeError) return null;
      throw error;
    }
  };
  const face = open();
  if (face === null) return null;
  const frames = drawPreview(face, label);
  const raw = {
    width: PREVIEW_SIZE,
    height: PREVIEW_SIZE * frames.length,
    channels: 3 as const,
    pageHeight: PREVIEW_SIZE,
  };
  return sharp(Buffer.concat(frames), { raw })
    .webp({ quality: QUALITY, effort: EFFORT, loop: 0, delay: frames.map(() => 1000 / PREVIEW_PICTURES_PER_SECOND) })
    .toBuffer();
};
