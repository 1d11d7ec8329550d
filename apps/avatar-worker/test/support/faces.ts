/**
 * An avatar with a face: the prepared picture of a man with closed lips, the mesh from its preparation, and a voice.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { encodeMesh, MESH_POINTS, manifestFace } from "@realtime-avatar/domain/avatars/face-mesh";
import { manifestLoop } from "@realtime-avatar/domain/avatars/idle-loop";
import { preparedFile } from "@realtime-avatar/domain/avatars/preparation";
import { encodeLoop, FRAME_SIZE } from "@realtime-avatar/face/loop/loop-file";
import { toI420 } from "@realtime-avatar/face/picture";
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

/** The number of frames of the loop. */
const LOOP_FRAMES = 100;

/** The same avatar with an idle loop of four seconds, in which the person moves to the right by half a pixel a frame. */
export const preparedLoop = async () => {
  const { manifest } = await preparedFace();
  const photo = PHOTOS.find((each) => photoName(each) === "material-kit/faces/marc.jpg");
  if (!photo) throw new Error("The photograph is missing.");
  const wide = await sharp(photoPath(photo)).resize(1024, 1024).removeAlpha().toColourspace("srgb").raw().toBuffer();
  const raw = { raw: { width: 1024, height: 1024, channels: 3 as const } };
  const frames = await Promise.all(
    Array.from({ length: LOOP_FRAMES }, async (_, frame) => {
      // Moves the large picture by a pixel for each frame. Its edge is repeated beyond it.
      const moved = await sharp(wide, raw)
        .extend({ left: frame, extendWith: "copy" })
        .extract({ left: 0, top: 0, width: 1024, height: 1024 })
        .toBuffer();
      const rgb = await sharp(moved, raw).resize(512, 512).raw().toBuffer();
      const picture = toI420(rgb);
      const jpeg = await sharp(picture, { raw: { ...FRAME_SIZE, channels: 1 } })
        .toColourspace("b-w")
        .jpeg({ quality: 80 })
        .toBuffer();
      return { picture, jpeg, place: [1, 0, frame / 2, 0, 1, 0] as const };
    }),
  );
  const bytes = encodeLoop(frames);
  const file = preparedFile(1, createHash("sha256").update(bytes).digest("hex"), "loop");
  const pictures = frames.map(({ picture }) => picture);
  return { bytes, pictures, file, manifest: { ...manifest, loop: manifestLoop({ file }) } };
};

/** Two seconds of speech in frames of 20 ms, at 48 kHz. The committed file has 16 kHz. */
export const speechFrames = async (): Promise<Int16Array[]> => {
  const samples = new Int16Array(await Bun.file(join(FOLDER, "speech.wav")).arrayBuffer(), WAV_HEADER);
  return Array.from({ length: 100 }, (_, index) =>
    Int16Array.from({ length: 960 }, (_, at) => samples[320 * index + Math.floor(at / 3)] ?? 0),
  );
};
