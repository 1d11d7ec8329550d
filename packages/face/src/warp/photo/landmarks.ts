/** The points of MediaPipe's face mesh, by the parts of the face that the warp uses. */

/** A place in the picture, in pixels. A smaller z is nearer. */
export type Point = { x: number; y: number; z: number };

/** The number of points of a mesh. */
export const LANDMARK_COUNT = 468;

export const LANDMARK = {
  forehead: 10,
  chin: 152,
  noseTip: 1,
  noseBase: 2,
  mouthLeft: 61,
  mouthRight: 291,
  upperLipTop: 0,
  upperLipInside: 13,
  lowerLipInside: 14,
  lowerLipBottom: 17,
  eyeOuterLeft: 33,
  eyeOuterRight: 263,
  earLeft: 234,
  earRight: 454,
} as const;

/** The inner edges of the lips, from corner to corner. */
export const UPPER_LIP = [78, 191, 80, 81, 82, 13, 312, 311, 310, 415, 308] as const;
export const LOWER_LIP = [78, 95, 88, 178, 87, 14, 317, 402, 318, 324, 308] as const;

/** The eyes, from left to right in the picture: the edges of the lids from corner to corner, and the brow. */
export const EYES = [
  {
    upper: [33, 246, 161, 160, 159, 158, 157, 173, 133],
    lower: [33, 7, 163, 144, 145, 153, 154, 155, 133],
    brow: [46, 53, 52, 65, 55],
  },
  {
    upper: [362, 398, 384, 385, 386, 387, 388, 466, 263],
    lower: [362, 382, 381, 380, 374, 373, 390, 249, 263],
    brow: [285, 295, 282, 283, 276],
  },
] as const;

/** The outline of the face. */
export const OVAL = [
  10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377, 152, 148, 176, 149, 150, 136,
  172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109,
] as const;

/** Places of plain skin: both sides of the mouth, both cheeks, beside the nose, and its tip. */
export const SKIN = [205, 425, 50, 280, 187, 411, 1] as const;
/** The places whose colour is the most even. */
export const CHEEKS = [205, 425, 50, 280] as const;

/** The landmark `index` of a mesh: 468 × 3 numbers. */
export const landmark = (mesh: Float32Array, index: number): Point => ({
  x: mesh[3 * index] as number,
  y: mesh[3 * index + 1] as number,
  z: mesh[3 * index + 2] as number,
});

/** The distance of the outer corners of the eyes in pixels: the unit of all sizes of a face. */
export const measureEyeDistance = (mesh: Float32Array): number => {
  const left = landmark(mesh, LANDMARK.eyeOuterLeft);
  const right = landmark(mesh, LANDMARK.eyeOuterRight);
  return Math.hypot(left.x - right.x, left.y - right.y, left.z - right.z);
};
