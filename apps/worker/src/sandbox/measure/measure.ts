/** Measures a face. Pure functions: from the mesh of a face and from the pixels of a picture, to numbers. */
import type { Face, Point } from "./faces.ts";

/** A box in pixels; `right` and `bottom` are exclusive. It can extend beyond the edges of its picture. */
export type Box = { left: number; top: number; right: number; bottom: number };
export type Size = { width: number; height: number };

/** One channel of 8 bits. */
export type Grey = { data: Uint8Array; width: number; height: number };

/** Points of MediaPipe's face mesh. */
const FOREHEAD = 10;
const CHIN = 152;
/**
 * Pairs of points of the left and right halves of a face that mirror each other: ears, corners of the eyes and of the
 * mouth.
 */
const MIRRORED = [
  [454, 234],
  [323, 93],
  [361, 132],
  [263, 33],
  [362, 133],
  [291, 61],
] as const;

/**
 * The pitch, in degrees, of the line from the forehead to the chin of a face that looks straight at the camera: the
 * median of such photographs in the calibration.
 */
const UPRIGHT_PITCH = 11;

const ORIGIN: Point = [0, 0, 0];

const pointOf = (mesh: readonly Point[], index: number): Point => mesh[index] ?? ORIGIN;

const degrees = (radians: number): number => (radians * 180) / Math.PI;

/**
 * The angle between a direction and the plane of the picture, in degrees. Independent of the rotation of the picture.
 */
const inclination = ([x, y, z]: Point): number => degrees(Math.atan2(z, Math.hypot(x, y)));

const difference = (a: Point, b: Point): Point => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];

/** The box around the mesh: from the forehead below the hair to the chin, and from ear to ear. */
export const faceBox = ({ mesh }: Face): Box => {
  const [xs, ys] = [mesh.map(([x]) => x), mesh.map(([, y]) => y)];
  return { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs) + 1, bottom: Math.max(...ys) + 1 };
};

const areaOf = ({ left, top, right, bottom }: Box): number => Math.max(0, right - left) * Math.max(0, bottom - top);

/** The share of the smaller box that both boxes cover: from 0 to 1. */
const overlap = (a: Box, b: Box): number => {
  const common: Box = {
    left: Math.max(a.left, b.left),
    top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right),
    bottom: Math.min(a.bottom, b.bottom),
  };
  return areaOf(common) / Math.max(1, Math.min(areaOf(a), areaOf(b)));
};

/** A second face counts only above this confidence of the detector: hands, folds and patterns get up to 0.45. */
const SURE = 0.5;
/** The detector can find a part of a face beside the whole face. */
const MAX_OVERLAP = 0.4;

/** The confidence of a face: from 0 to 1. */
export const faceConfidence = ({ detectorConfidence, meshConfidence }: Face): number =>
  Math.min(detectorConfidence, meshConfidence);

/**
 * The faces that count, the most confident first: the first of all, and each further one that is confident and at
 * another place.
 */
export const countedFaces = (faces: readonly Face[]): Face[] => {
  const counted: Face[] = [];
  for (const face of [...faces].sort((a, b) => faceConfidence(b) - faceConfidence(a))) {
    const isElsewhere = counted.every((other) => overlap(faceBox(face), faceBox(other)) < MAX_OVERLAP);
    if (counted.length === 0 || (isElsewhere && faceConfidence(face) >= SURE)) counted.push(face);
  }
  return counted;
};

/** The height of the face, in percent of the height of the picture. */
export const faceSize = (face: Face, { height }: Size): number => {
  const { top, bottom } = faceBox(face);
  return (100 * (bottom - top)) / height;
};

/** The direction from the right half of a face to its left half, which is on the right in the picture. */
const acrossFace = ({ mesh }: Face): Point => {
  const sum: [number, number, number] = [0, 0, 0];
  for (const [left, right] of MIRRORED) {
    const [x, y, z] = difference(pointOf(mesh, left), pointOf(mesh, right));
    sum[0] += x;
    sum[1] += y;
    sum[2] += z;
  }
  return sum;
};

/** How far the face is tilted to a shoulder, in degrees: 0 is upright, positive is clockwise in the picture. */
export const faceRoll = (face: Face): number => {
  const [x, y] = acrossFace(face);
  return degrees(Math.atan2(y, x));
};

/** How far the face is turned to a side, in degrees: 0 looks at the camera, positive looks to the right in the picture. */
export const faceYaw = (face: Face): number => inclination(acrossFace(face));

/** How far the face is turned up or down, in degrees: 0 looks at the camera, positive looks down. */
export const facePitch = ({ mesh }: Face): number =>
  inclination(difference(pointOf(mesh, CHIN), pointOf(mesh, FOREHEAD))) - UPRIGHT_PITCH;

/**
 * The smallest distance of the face from an edge of the picture, in percent of the height of the face. Negative when a
 * part of the face is outside of the picture.
 */
export const edgeDistance = (face: Face, { width, height }: Size): number => {
  const { left, top, right, bottom } = faceBox(face);
  return (100 * Math.min(left, top, width - right, height - bottom)) / (bottom - top);
};

/** Calls `use` for each pixel of the ellipse that fills the picture: a face without most of the background. */
const forEachPixelOfEllipse = ({ width, height }: Size, use: (x: number, y: number) => void): void => {
  for (let y = 1; y < height - 1; y += 1) {
    for (let x = 1; x < width - 1; x += 1) {
      const [dx, dy] = [(2 * x + 1) / width - 1, (2 * y + 1) / height - 1];
      if (dx * dx + dy * dy <= 1) use(x, y);
    }
  }
};

/** Mean and variance of a stream of numbers. */
const statistics = () => {
  let [count, sum, squares] = [0, 0, 0];
  return {
    add: (value: number): void => {
      count += 1;
      sum += value;
      squares += value * value;
    },
    mean: (): number => (count === 0 ? 0 : sum / count),
    variance: (): number => (count === 0 ? 0 : Math.max(0, squares / count - (sum / count) ** 2)),
  };
};

/** The share of a face, in percent, that is brighter than its brightness. */
const BRIGHTER = 10;

/**
 * The brightness of a face that fills the picture: the luma that a tenth of it exceeds, in percent of white. Unlike the
 * mean, it depends more on the light than on the colour of the skin. One of the darkest faces of the calibration has
 * the mean of a light face with a quarter of the light, but the brightness of a light face with half of the light.
 */
export const brightness = (face: Grey): number => {
  const counts = new Uint32Array(256);
  let total = 0;
  forEachPixelOfEllipse(face, (x, y) => {
    const luma = face.data[y * face.width + x] ?? 0;
    counts[luma] = (counts[luma] ?? 0) + 1;
    total += 1;
  });
  if (total === 0) return 0;
  let brighter = 0;
  let value = 255;
  for (; value > 0; value -= 1) {
    brighter += counts[value] ?? 0;
    if (brighter >= (BRIGHTER / 100) * total) break;
  }
  return (100 * value) / 255;
};

/**
 * The height to which a face is scaled before its sharpness is measured. A smaller face lacks the detail of this
 * height.
 */
export const SHARPNESS_HEIGHT = 128;
/** Added to the variance of the luma, so that the noise of a face without contrast does not count as detail. */
const NOISE_VARIANCE = 25;

/**
 * The sharpness of a face that fills the picture and is `SHARPNESS_HEIGHT` high: the variance of its second derivative,
 * in per mille of the variance of its luma, so that it does not depend on the light. It is measured along the lines,
 * the columns and both diagonals. The smallest value counts, because a moving camera blurs in only one direction.
 */
export const measureSharpness = (face: Grey): number => {
  const { data, width } = face;
  const luma = statistics();
  const directions = [
    { step: 1, weight: 1 },
    { step: width, weight: 1 },
    // The steps of a diagonal are longer by the square root of 2.
    { step: width + 1, weight: 0.5 },
    { step: width - 1, weight: 0.5 },
  ].map((direction) => ({ ...direction, curvature: statistics() }));
  forEachPixelOfEllipse(face, (x, y) => {
    const at = y * width + x;
    const value = data[at] ?? 0;
    luma.add(value);
    for (const { step, weight, curvature } of directions) {
      curvature.add(weight * ((data[at - step] ?? 0) + (data[at + step] ?? 0) - 2 * value));
    }
  });
  return (
    (1000 * Math.min(...directions.map(({ curvature }) => curvature.variance()))) / (luma.variance() + NOISE_VARIANCE)
  );
};
