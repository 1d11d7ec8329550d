/**
 * An avatar with a face: the prepared picture of a man with closed lips, the mesh from its preparation, and a voice.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { encodeMesh, MESH_POINTS, manifestFace } from "@realtime-avatar/domain/avatars/face-mesh";
import { preparedFile } from "@realtime-avatar/domain/avatars/preparation";
import { PHOTOS, photoName, photoPath } from "@realtime-avatar/testing/photos";
import sharp from "sharp";

const FOLDER = join(import.meta.dir, "../../../../packages/face/src/testing");
const WAV_HEADER = 44;
const MESH_UNITS_PER_PIXEL = 16;

/** The points of the mesh, in pixels of the picture of 512 × 512. */
export const facePoints = async (): Promise<number[][]> => {
  const units = new Int16Array(await Bun.file(join(FOLDER, "closed.mesh")).arrayBuffer());
  return Array.from({ length: MESH_POINTS }, (_, index) =>
    [...units.subarray(3 * index, 3 * index + 3)].map((unit) => unit / MESH_UNITS_PER_PIXEL),
  );
};

/** The prepared picture, and its manifest. */
export const preparedFace = async () => {
  const photo = PHOTOS.find((each) => photoName(each) === "material-kit/faces/marc.jpg");
  if (!photo) throw new Error("The photograph is missing.");
  const image = await sharp(photoPath(photo)).resize(512, 512).webp({ quality: 90 }).toBuffer();
  const file = preparedFile(1, createHash("sha256").update(image).digest("hex"), "webp");
  const manifest = { pictures: { normalized: { file } }, face: manifestFace(encodeMesh(await facePoints())) };
  return { image, file, manifest };
};

/** Two seconds of speech in frames of 20 ms, at 48 kHz. The committed file has 16 kHz. */
export const speechFrames = async (): Promise<Int16Array[]> => {
  const samples = new Int16Array(await Bun.file(join(FOLDER, "speech.wav")).arrayBuffer(), WAV_HEADER);
  return Array.from({ length: 100 }, (_, index) =>
    Int16Array.from({ length: 960 }, (_, at) => samples[320 * index + Math.floor(at / 3)] ?? 0),
  );
};
