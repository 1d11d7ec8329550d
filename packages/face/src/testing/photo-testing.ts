/** Three faces of the test photographs, with the landmarks that the preparation finds in them. */
import { join } from "node:path";
import { PHOTOS, photoName, photoPath } from "@realtime-avatar/testing/photos";
import sharp from "sharp";
import { PICTURE_SIZE, toI420 } from "../picture.ts";
import { type Face, openFace } from "../warp/face.ts";

/** `region`: the square that the preparation cuts out of the photo. */
const FACES = {
  /** A man with closed lips. */
  closed: { photo: "material-kit/faces/marc.jpg", region: null },
  /** A woman whose smile shows teeth. */
  smile: { photo: "soft-ui-dashboard/kal-visuals-square.jpg", region: { left: 88, top: 13, width: 670, height: 670 } },
  /** A woman whose head is turned. The landmarks of her far eye, on the left in the picture, lie on the cheek. */
  turned: { photo: "soft-ui-dashboard/ivana-square.jpg", region: { left: 8, top: 88, width: 655, height: 655 } },
} as const;
export type TestFace = keyof typeof FACES;

/** The landmarks of a face: 468 × 3 numbers in sixteenths of a pixel. */
export const readMesh = async (name: TestFace): Promise<Float32Array> => {
  const bytes = await Bun.file(join(import.meta.dir, `${name}.mesh`)).arrayBuffer();
  return Float32Array.from(new Int16Array(bytes), (value) => value / 16);
};

/** The photo of a face as I420. */
export const readPicture = async (name: TestFace): Promise<Uint8Array> => {
  const { photo, region } = FACES[name];
  const found = PHOTOS.find((each) => photoName(each) === photo);
  if (!found) throw new Error(`Unknown photograph ${photo}.`);
  const whole = sharp(photoPath(found));
  const cut = region === null ? whole : whole.extract(region);
  const square = cut.resize(PICTURE_SIZE, PICTURE_SIZE, { kernel: "lanczos3" });
  return toI420(new Uint8Array(await square.removeAlpha().toColourspace("srgb").raw().toBuffer()));
};

export const openTestFace = async (name: TestFace): Promise<Face> =>
  openFace(await readPicture(name), await readMesh(name));
