/** The picture of a prepared avatar and its mesh, for tests of videos. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { manifestFace } from "@realtime-avatar/domain/avatars/face-mesh";
import { PHOTOS, photoName, photoPath } from "@realtime-avatar/testing/photos";
import sharp from "sharp";
import type { VideoInput } from "../../src/videos/render.ts";

const PHOTO = "material-kit/faces/marc.jpg";
const MESH = join(import.meta.dir, "../../../../packages/face/src/testing/closed.mesh");

/** Writes the picture of a man with closed lips to `path`. */
export const preparedPicture = async (path: string): Promise<Pick<VideoInput, "picture" | "mesh">> => {
  const photo = PHOTOS.find((each) => photoName(each) === PHOTO);
  if (photo === undefined) throw new Error(`There is no photograph ${PHOTO}.`);
  await sharp(photoPath(photo)).resize(512, 512, { kernel: "lanczos3" }).webp({ quality: 90 }).toFile(path);
  return { picture: path, mesh: manifestFace((await readFile(MESH)).toString("base64")) };
};
