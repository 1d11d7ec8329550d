/**
 * The eyes of the photo: their lids as smooth curves. The single landmarks of a lid are so noisy that the lid would
 * look jagged.
 */
import { clamp, mix } from "../../numbers.ts";
import { type Box, boxAround, type Frame, frameAlong, fromFrame, intoFrame } from "../frame.ts";
import { lumaNear, type Place } from "../grid.ts";
import { type Curve, curveThrough, tabulate } from "./curve.ts";
import { findEye } from "./find-eye.ts";
import { EYES, landmark } from "./landmarks.ts";

/** Entries of the tables from corner to corner. */
export const LID_TABLE = 256;

/**
 * Beyond the corners of the eye, this share of its half width also moves in a blink. Otherwise the fold of the lid
 * would break there.
 */
export const BESIDE = 0.6;
/** Height of the skin under the eye that rises in a blink, in eye distances. */
export const LOWER_SKIN = 0.11;

/** All lengths in pixels. */
export type Eye = {
  /** Origin in the middle between the corners, x along them, y down. */
  frame: Frame;
  /** Half of the width. */
  half: number;
  /** y of the edges of the lids, and of the upper end of the skin that moves, from the left corner to the right one. */
  upper: Float32Array;
  lower: Float32Array;
  top: Float32Array;
  /** The parts of the picture that a blink and the gaze can change. */
  blinkBox: Box;
  gazeBox: Box;
};

/** A lid: y = (1 - t²) (height + skew t), where t is -1 and 1 at the corners. */
type Lid = { height: number; skew: number };

const fitLid = (points: readonly Place[], half: number): Lid => {
  let [s11, s12, s22, r1, r2] = [0, 0, 0, 0, 0];
  for (const { x, y } of points) {
    const t = x / half;
    const first = 1 - t * t;
    const second = first * t;
    s11 += first * first;
    s12 += first * second;
    s22 += second * second;
    r1 += first * y;
    r2 += second * y;
  }
  const determinant = s11 * s22 - s12 * s12 || 1;
  return { height: (r1 * s22 - r2 * s12) / determinant, skew: (r2 * s11 - r1 * s12) / determinant };
};

const readLid = ({ height, skew }: Lid, half: number, x: number): number => {
  const t = clamp(x / half, -1, 1);
  return (1 - t * t) * (height + skew * t);
};

/**
 * The distance from the upper lid of the landmarks to the edge between skin and lashes, which is the strongest step to
 * dark.
 */
const findLidOffset = (luma: Uint8Array, frame: Frame, lid: Lid, half: number, eyeDistance: number): number => {
  const reach = 0.035 * eyeDistance;
  let [bestScore, bestOffset] = [Number.NEGATIVE_INFINITY, 0];
  for (let offset = -reach; offset <= reach; offset += 0.4) {
    let score = -100 * (offset / (0.02 * eyeDistance)) ** 2;
    for (let t = -0.6; t <= 0.6; t += 0.1) {
      const y = (1 - t * t) * (lid.height + offset + lid.skew * t);
      const lumaAt = (below: number): number => {
        const place = fromFrame(frame, t * half, y + below);
        return lumaNear(luma, place.x, place.y);
      };
      score += lumaAt(-2) + lumaAt(-3) - lumaAt(0.5) - lumaAt(1.5);
    }
    if (score <= bestScore) continue;
    [bestScore, bestOffset] = [score, offset];
  }
  return bestOffset;
};

/** The frame, the half width and the lids of an eye by its landmarks, moved to where the photo shows the eye. */
const placeEye = (luma: Uint8Array, mesh: Float32Array, eyeDistance: number, marks: (typeof EYES)[number]) => {
  const point = (index: number) => landmark(mesh, index);
  const [left, right] = [point(marks.upper[0]), point(marks.upper[8])];
  const middle = { x: (left.x + right.x) / 2, y: (left.y + right.y) / 2 };
  const frame = frameAlong(middle, left, right);
  const half = Math.hypot(right.x - left.x, right.y - left.y) / 2;
  const fit = (indices: readonly number[]): Lid =>
    fitLid(
      indices.map((index) => intoFrame(frame, point(index))),
      half,
    );
  const [upper, lower] = [fit(marks.upper.slice(1, 8)), fit(marks.lower.slice(1, 8))];
  upper.height += findLidOffset(luma, frame, upper, half, eyeDistance);
  const [upperCurve, lowerCurve] = [upper, lower].map(
    (lid): Curve =>
      (x) =>
        readLid(lid, half, x),
  ) as [Curve, Curve];
  const found = findEye(luma, { frame, half, upper: upperCurve, lower: lowerCurve }, eyeDistance);
  if (found === null) return { frame, half, upper, lower };
  const { scale } = found;
  const resize = ({ height, skew }: Lid): Lid => ({ height: scale * height, skew: scale * skew });
  return { frame: found.frame, half: scale * half, upper: resize(upper), lower: resize(lower) };
};

/** The brow is at least this far above the edge of the lid, in eye distances. */
const LEAST_SKIN = 0.06;

/**
 * Columns in which a rim is searched, as shares of the half width, and the number of neighbouring columns that a rim
 * crosses.
 */
const RIM_COLUMNS = [-0.8, -0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6, 0.8] as const;
const LEAST_RIM_COLUMNS = 3;
/** A rim is brighter by this than the skin above and below it, in steps of luma. Skin between folds reaches 48. */
const RIM_STEP = 50;

/**
 * The height of the stretchable skin above the edge of an upper lid, in pixels. It ends at `top`, or below at a bright
 * rim of glasses, which the lid would pull down.
 */
const findSkinHeight = (
  luma: Uint8Array,
  frame: Frame,
  half: number,
  [upper, top]: readonly [Curve, Curve],
  eyeDistance: number,
): number => {
  const rim = 0.022 * eyeDistance;
  let [columns, height] = [0, Number.POSITIVE_INFINITY];
  let nearest = height;
  for (const share of RIM_COLUMNS) {
    const x = share * half;
    const read = (y: number): number => {
      const place = fromFrame(frame, x, y);
      return lumaNear(luma, place.x, place.y);
    };
    let found = Number.POSITIVE_INFINITY;
    for (let y = upper(x) - LEAST_SKIN * eyeDistance; y > top(x); y -= 0.5) {
      const step = read(y) - Math.max(read(y - rim), read(y + rim));
      if (step >= RIM_STEP) found = Math.min(found, upper(x) - y);
    }
    columns = found < Number.POSITIVE_INFINITY ? columns + 1 : 0;
    nearest = columns === 0 ? Number.POSITIVE_INFINITY : Math.min(nearest, found);
    if (columns >= LEAST_RIM_COLUMNS) height = Math.min(height, nearest);
  }
  return height - rim;
};

const createEye = (luma: Uint8Array, mesh: Float32Array, eyeDistance: number, marks: (typeof EYES)[number]): Eye => {
  const { frame, half, upper, lower } = placeEye(luma, mesh, eyeDistance, marks);
  const upperCurve: Curve = (x) => readLid(upper, half, x);
  const lowerCurve: Curve = (x) => {
    const t = clamp(x / half, -1, 1);
    return Math.max(upperCurve(x) + 0.5 * (1 - t * t), readLid(lower, half, x));
  };
  const browPoints = marks.brow.map((index) => intoFrame(frame, landmark(mesh, index))).sort((a, b) => a.x - b.x);
  const brow = curveThrough(
    browPoints.map(({ x }) => x),
    browPoints.map(({ y }) => y),
  );
  const browCurve: Curve = (x) => mix(upperCurve(x), Math.min(brow(x), upperCurve(x) - LEAST_SKIN * eyeDistance), 0.6);
  const skinHeight = findSkinHeight(luma, frame, half, [upperCurve, browCurve], eyeDistance);
  const topCurve: Curve = (x) => Math.max(browCurve(x), upperCurve(x) - skinHeight);
  const table = (curve: Curve) => tabulate(curve, -half, half, LID_TABLE);
  const shares = [-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1];
  const along = (curve: Curve): Place[] => shares.map((share) => fromFrame(frame, share * half, curve(share * half)));
  const ends = [-half, half].flatMap((x) => [
    fromFrame(frame, (1 + BESIDE) * x, topCurve(x)),
    fromFrame(frame, (1 + BESIDE) * x, 0),
  ]);
  const cheek: Curve = (x) => lowerCurve(x) + LOWER_SKIN * eyeDistance;
  const blinkBox = boxAround([...along(topCurve), ...along(cheek), ...ends]);
  const gazeBox = boxAround([...along(upperCurve), ...along(lowerCurve)]);
  const tables = { upper: table(upperCurve), lower: table(lowerCurve), top: table(topCurve) };
  return { frame, half, ...tables, blinkBox, gazeBox };
};

/** The eyes, from left to right in the picture. */
export const findEyes = (luma: Uint8Array, mesh: Float32Array, eyeDistance: number): [left: Eye, right: Eye] => [
  createEye(luma, mesh, eyeDistance, EYES[0]),
  createEye(luma, mesh, eyeDistance, EYES[1]),
];
