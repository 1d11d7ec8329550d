/** The lips of the photo: their curves and sizes, in the frame of the mouth. */
import { mix, smoothstep } from "../../numbers.ts";
import type { Planes } from "../../picture.ts";
import { type Frame, frameAlong, intoFrame } from "../frame.ts";
import type { Place } from "../grid.ts";
import { type Curve, curveThrough } from "./curve.ts";
import { LANDMARK, LOWER_LIP, landmark, OVAL, UPPER_LIP } from "./landmarks.ts";
import { findLipEdge, findSeam } from "./seam.ts";

/**
 * Lips that are this far apart, in eye distances, are open. The landmarks of closed lips are up to 0.036 apart. Those
 * of open lips are 0.04 or more apart.
 */
const OPEN_GAP = 0.038;
/** The largest error of the seam by the landmarks, in eye distances. */
const SEAM_REACH = 0.035;

/** Widths between the inner corners of a mouth that does not smile, and of one with a broad smile, in eye distances. */
const SMILE_WIDTHS = [0.48, 0.62] as const;

/** All lengths except `gap` are in pixels. */
export type Lips = {
  /** Origin between the lips, x along the corners, y down. */
  frame: Frame;
  /** x of the corners. The left one is negative. */
  left: number;
  right: number;
  /** x of the outline of the face beside the mouth. */
  leftCheek: number;
  rightCheek: number;
  /** The lower edge of the upper lip, and the upper edge of the lower lip. Both are the seam when the lips are closed. */
  upper: Curve;
  lower: Curve;
  /** From the lips to the base of the nose and to the chin. */
  nose: number;
  chin: number;
  /** Heights of the red of the lips. */
  upperHeight: number;
  lowerHeight: number;
  /** The widest opening, in eye distances. */
  gap: number;
  isOpen: boolean;
  /** The smile of the photo, from 0 to 1, by the width of the mouth. */
  smile: number;
};

/** x of the outline where it crosses the x axis of the mouth, the nearest one on each side of the corners. */
const findCheeks = (outline: readonly Place[], left: number, right: number): [left: number, right: number] => {
  const crossings = outline.flatMap((place, index) => {
    const next = outline[(index + 1) % outline.length] as Place;
    if (place.y < 0 === next.y < 0) return [];
    return [mix(place.x, next.x, place.y / (place.y - next.y))];
  });
  return [
    Math.max(2 * left - right, ...crossings.filter((x) => x < left)),
    Math.min(2 * right - left, ...crossings.filter((x) => x > right)),
  ];
};

/** The edge of a lip is not sharp. This part of it, in pixels, has the colour of the teeth. */
const LIP_RIM = 0.7;

/** Finds the lips in the photo. */
export const findLips = ({ y: luma, v: red }: Planes, mesh: Float32Array, eyeDistance: number): Lips => {
  const point = (index: number) => landmark(mesh, index);
  const [inside, below] = [point(LANDMARK.upperLipInside), point(LANDMARK.lowerLipInside)];
  const origin = { x: (inside.x + below.x) / 2, y: (inside.y + below.y) / 2 };
  const frame = frameAlong(origin, point(LANDMARK.mouthLeft), point(LANDMARK.mouthRight));
  const framed = (index: number) => intoFrame(frame, point(index));
  const pairs = UPPER_LIP.map((index, place) => ({ top: framed(index), bottom: framed(LOWER_LIP[place] as number) }));
  const xs = pairs.map(({ top, bottom }) => (top.x + bottom.x) / 2);
  // Landmarks of closed lips can cross each other.
  let upperYs = pairs.map(({ top, bottom }) => Math.min(top.y, (top.y + bottom.y) / 2));
  let lowerYs = pairs.map(({ top, bottom }) => Math.max(bottom.y, (top.y + bottom.y) / 2));
  const measureGap = () => Math.max(...lowerYs.map((y, index) => y - (upperYs[index] as number))) / eyeDistance;
  const landmarkGap = measureGap();
  const isOpen = landmarkGap > OPEN_GAP;
  if (!isOpen) {
    const middle = curveThrough(
      xs,
      upperYs.map((y, index) => (y + (lowerYs[index] as number)) / 2),
    );
    upperYs = findSeam(luma, frame, xs, middle, Math.ceil(SEAM_REACH * eyeDistance));
    lowerYs = upperYs;
  } else {
    const ends = findLipEdge(red, frame, xs, curveThrough(xs, lowerYs), Math.ceil(SEAM_REACH * eyeDistance));
    lowerYs = ends.map((y, index) => Math.max(y + LIP_RIM, upperYs[index] as number));
  }
  const [left, right] = [xs[0] as number, xs.at(-1) as number];
  const [leftCheek, rightCheek] = findCheeks(OVAL.map(framed), left, right);
  const [upper, lower] = [curveThrough(xs, upperYs), curveThrough(xs, lowerYs)];
  return {
    frame,
    left,
    right,
    leftCheek,
    rightCheek,
    upper,
    lower,
    nose: Math.max(0.14 * eyeDistance, -framed(LANDMARK.noseBase).y),
    chin: framed(LANDMARK.chin).y,
    upperHeight: Math.max(0.03 * eyeDistance, upper(0) - framed(LANDMARK.upperLipTop).y),
    lowerHeight: Math.max(0.04 * eyeDistance, framed(LANDMARK.lowerLipBottom).y - lower(0)),
    gap: isOpen ? measureGap() : landmarkGap,
    isOpen,
    smile: smoothstep(...SMILE_WIDTHS, (right - left) / eyeDistance),
  };
};
