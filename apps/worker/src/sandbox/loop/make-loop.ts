/** Makes the idle loop of a film: searches the face in its frames, and writes those in which the lips are still. Runs in a child process. */
import { encodeMesh } from "@realtime-avatar/domain/avatars/face-mesh";
import {
  encodeLoop,
  FRAME_SIZE,
  FRAMES_PER_SECOND,
  type LoopFrame,
  loopBytes,
  MAX_LOOP_BYTES,
  MIN_FRAMES,
} from "@realtime-avatar/face/loop/loop-file";
import { PICTURE_SIZE, toI420 } from "@realtime-avatar/face/picture";
import type { Affine } from "@realtime-avatar/face/warp/affine";
import type Sharp from "sharp";
import type { FindFaces, Picture, Point } from "../measure/faces.ts";
import { countedFaces, faceConfidence, faceYaw } from "../measure/measure.ts";
import { encodeFiles, type Files } from "../measure/picture.ts";
import type { Report } from "../report.ts";
import { SEARCHED_SECONDS } from "./film-limits.ts";
import { splitJpegs } from "./frames.ts";
import { findPlaces, smoothMesh } from "./places.ts";
import { FRAMES_PER_SAMPLE, findStillPart, type LoopReason, type Sample } from "./still-part.ts";

const MAX_FILM_FRAMES = FRAMES_PER_SECOND * SEARCHED_SECONDS;
/** Artifacts of a frame that is shown for 40 ms are not visible from 75. */
const QUALITY = 80;
const MIN_CONFIDENCE = 0.65;
/** Width and height of the parts whose light is compared. */
const LIGHT_SIDE = 8;

const SIZE = { width: PICTURE_SIZE, height: PICTURE_SIZE };

/** A frame as RGB of 512 × 512 pixels; null when it is damaged or has another size. */
const decodeFrame = async (sharp: typeof Sharp, jpeg: Buffer): Promise<Picture | null> => {
  try {
    const image = sharp(jpeg, { limitInputPixels: PICTURE_SIZE ** 2 })
      .toColourspace("srgb")
      .raw();
    const { data, info } = await image.toBuffer({ resolveWithObject: true });
    const isFrame = info.width === PICTURE_SIZE && info.height === PICTURE_SIZE && info.channels === 3;
    return isFrame ? { data, ...SIZE } : null;
  } catch {
    return null;
  }
};

/** The luma of each part of a picture, by some of its pixels. */
const lightOf = ({ data }: Picture): Uint8Array => {
  const step = PICTURE_SIZE / LIGHT_SIDE;
  return Uint8Array.from({ length: LIGHT_SIDE ** 2 }, (_, part) => {
    const [left, top] = [step * (part % LIGHT_SIDE), step * Math.floor(part / LIGHT_SIDE)];
    let sum = 0;
    for (let pixel = 0; pixel < step ** 2; pixel += 37) {
      const at = 3 * ((top + Math.floor(pixel / step)) * PICTURE_SIZE + left + (pixel % step));
      sum += 0.299 * (data[at] ?? 0) + 0.587 * (data[at + 1] ?? 0) + 0.114 * (data[at + 2] ?? 0);
    }
    return sum / Math.ceil(step ** 2 / 37);
  });
};

const isInside = (mesh: readonly Point[]): boolean =>
  mesh.every(([x, y]) => x >= 0 && y >= 0 && x <= PICTURE_SIZE && y <= PICTURE_SIZE);

const examine = async (findFaces: FindFaces, picture: Picture | null): Promise<Sample> => {
  if (picture === null) return { mesh: null, yaw: 0, light: new Uint8Array(LIGHT_SIDE ** 2) };
  const [face, second] = countedFaces(await findFaces(picture));
  const isFace = face && !second && faceConfidence(face) >= MIN_CONFIDENCE && isInside(face.mesh);
  return { mesh: isFace ? face.mesh : null, yaw: face ? faceYaw(face) : 0, light: lightOf(picture) };
};

/** Encodes frames, as many as fit into the file; null when they are damaged or too large. */
const encodeFrames = async (
  sharp: typeof Sharp,
  jpegs: readonly Buffer[],
  places: readonly Affine[],
): Promise<LoopFrame[] | null> => {
  const frames: LoopFrame[] = [];
  for (const [index, place] of places.entries()) {
    const picture = await decodeFrame(sharp, jpegs[index] ?? Buffer.alloc(0));
    if (picture === null) return null;
    const raw = { raw: { ...FRAME_SIZE, channels: 1 as const } };
    const jpeg = await sharp(toI420(picture.data), raw).toColourspace("b-w").jpeg({ quality: QUALITY }).toBuffer();
    frames.push({ jpeg, place });
    if (loopBytes(frames.map((frame) => frame.jpeg.length)) > MAX_LOOP_BYTES) {
      frames.pop();
      break;
    }
  }
  return frames.length >= MIN_FRAMES ? frames : null;
};

export type MadeLoop = { report: Report<"loop">; files: (Files & { loop: Uint8Array }) | null };

const none = (reason: LoopReason): MadeLoop => ({ report: { kind: "accepted", part: null, reason }, files: null });

/** Makes the loop of frames that ffmpeg has written (`writeFrames`). The other files are derived from its first frame. */
export const makeLoop = async (
  sharp: typeof Sharp,
  startFaces: () => Promise<FindFaces>,
  bytes: Buffer,
  label: string,
): Promise<MadeLoop> => {
  const jpegs = splitJpegs(bytes, MAX_FILM_FRAMES);
  const findFaces = await startFaces();
  const samples: Sample[] = [];
  for (let frame = 0; frame < jpegs.length; frame += FRAMES_PER_SAMPLE) {
    samples.push(await examine(findFaces, await decodeFrame(sharp, jpegs[frame] as Buffer)));
  }
  const found = findStillPart(samples);
  if (typeof found === "string") return none(found);
  const first = found.first * FRAMES_PER_SAMPLE;
  const meshes = samples.slice(found.first, found.first + found.samples).flatMap(({ mesh }) => (mesh ? [mesh] : []));
  const frames = await encodeFrames(sharp, jpegs.slice(first), findPlaces(meshes));
  const picture = await decodeFrame(sharp, jpegs[first] as Buffer);
  if (frames === null || picture === null) return none("too_large");
  const mesh = smoothMesh(meshes, 0);
  const files = await encodeFiles(sharp, { normalized: picture, face: { picture, mesh } }, label);
  return {
    report: { kind: "accepted", part: { first, frames: frames.length, mesh: encodeMesh(mesh) }, reason: null },
    files: { ...files, loop: encodeLoop(frames) },
  };
};
