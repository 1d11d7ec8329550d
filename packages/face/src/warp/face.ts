/**
 * A moving face from one photo. A picture is a backward warp: three maps on a grid give the place in the photo of each
 * pixel. `head` undoes the movement of the head only, `upper` also the expression above the seam of the lips, `lower`
 * the one below it. Away from the mouth, `upper` and `lower` agree. A pixel between the edges of the lips belongs to
 * the inside of the mouth. So lips part as a step between two smooth fields, without torn skin and without triangles.
 */
import { PICTURE_LENGTH, type Planes, planesFrom } from "../picture.ts";
import { drawEye } from "./draw-eye.ts";
import { drawMouth } from "./draw-mouth.ts";
import { createFields, type Fields } from "./fields.ts";
import { type MovingRow, NODE_COUNT } from "./grid.ts";
import { createHead, type Head } from "./head.ts";
import { createMaps, type Maps, updateMaps } from "./maps.ts";
import { checkMesh } from "./photo/check-mesh.ts";
import { type Eye, findEyes } from "./photo/eye.ts";
import { measureEyeDistance } from "./photo/landmarks.ts";
import { type Light, measureLight } from "./photo/light.ts";
import { findLips, type Lips } from "./photo/lips.ts";
import type { Pose } from "./pose.ts";
import { findMovingRows, type PackedPhoto, packPhoto, remap } from "./remap.ts";

export type Face = {
  /** The photo: I420 of 512 × 512 pixels, and its planes. */
  picture: Uint8Array;
  photo: Planes;
  packed: PackedPhoto;
  /** From the left to the right outer corner of the eyes, in pixels: the unit of all sizes. */
  eyeDistance: number;
  lips: Lips;
  eyes: readonly [left: Eye, right: Eye];
  light: Light;
  fields: Fields;
  head: Head;
  /** The nodes of the grid, and the parts of its rows, that can move. */
  moving: Int32Array;
  rows: MovingRow[];
  /** Written again for each picture. */
  maps: Maps;
};

/**
 * Opens the face of a photo in steps of at most about 50 ms, because a call plays sound between them.
 *
 * @param picture I420 of 512 × 512 pixels. The face keeps a reference to it, so do not change it later.
 * @param mesh 468 landmarks of MediaPipe's face mesh, 3 numbers each: x, y and z in pixels of the picture. A smaller z is nearer.
 * @throws RangeError when one of them has another length, and when the mesh is not that of a face.
 */
export function* openFaceInSteps(picture: Uint8Array, mesh: Float32Array): Generator<void, Face> {
  checkMesh(mesh);
  const photo = planesFrom(picture);
  const eyeDistance = measureEyeDistance(mesh);
  const lips = findLips(photo, mesh, eyeDistance);
  yield;
  const fields = createFields(lips, mesh, eyeDistance);
  yield;
  const head = createHead(mesh);
  const moving = Int32Array.from({ length: NODE_COUNT }, (_, node) => node).filter(
    (node) => head.share[node] !== 0 || fields.uses[node] !== 0,
  );
  yield;
  const packed = packPhoto(photo);
  yield;
  const eyes = findEyes(photo.y, mesh, eyeDistance);
  yield;
  return {
    picture,
    photo,
    packed,
    eyeDistance,
    lips,
    eyes,
    light: measureLight(photo, mesh, lips),
    fields,
    head,
    moving,
    rows: findMovingRows(moving),
    maps: createMaps(),
  };
}

/** Opens the face of a photo in one step. */
export const openFace = (picture: Uint8Array, mesh: Float32Array): Face => {
  const steps = openFaceInSteps(picture, mesh);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
};

/** Draws a pose as an I420 picture of 512 × 512 pixels: into `picture`, and returns it. At rest it equals the photo, byte for byte. */
export const drawFace = (face: Face, pose: Pose, picture: Uint8Array = new Uint8Array(PICTURE_LENGTH)): Uint8Array => {
  picture.set(face.picture);
  const target = planesFrom(picture);
  const { maps, packed, rows, eyes } = face;
  updateMaps(maps, face, pose);
  remap(packed, target, maps.picture, rows);
  // A mouth that does not speak is that of the photo.
  if (pose.talk > 0) drawMouth(face, pose, target);
  const { gazeX, gazeY } = pose;
  drawEye(eyes[0], { blink: pose.blinkLeft, gazeX, gazeY }, face, target);
  drawEye(eyes[1], { blink: pose.blinkRight, gazeX, gazeY }, face, target);
  return picture;
};
