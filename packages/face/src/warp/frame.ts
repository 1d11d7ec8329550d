/** A frame of reference in the picture. Its y axis points to the chin of an upright face. */
import { clamp } from "../numbers.ts";
import type { Place } from "./grid.ts";

/** The origin in pixels, and the direction of the x axis as a unit vector. */
export type Frame = { x: number; y: number; axisX: number; axisY: number };

/** The frame with its origin at `origin` whose x axis points from `left` to `right`. */
export const frameAlong = (origin: Place, left: Place, right: Place): Frame => {
  const length = Math.hypot(right.x - left.x, right.y - left.y);
  return { x: origin.x, y: origin.y, axisX: (right.x - left.x) / length, axisY: (right.y - left.y) / length };
};

/** A place in the picture, in coordinates of the frame. */
export const intoFrame = (frame: Frame, { x, y }: Place): Place => {
  const [right, down] = [x - frame.x, y - frame.y];
  return { x: right * frame.axisX + down * frame.axisY, y: down * frame.axisX - right * frame.axisY };
};

/** A place in the frame, in pixels of the picture. */
export const fromFrame = (frame: Frame, x: number, y: number): Place => ({
  x: frame.x + x * frame.axisX - y * frame.axisY,
  y: frame.y + x * frame.axisY + y * frame.axisX,
});

/** A rectangle of the picture, in pixels. */
export type Box = { left: number; top: number; right: number; bottom: number };

/**
 * Moves a box, enlarges it by `margin` on each side, and clips it to a plane. The plane has `size` × `size` pixels, each as
 * large as `scale` × `scale` pixels of the picture. Returns pixels of the plane.
 */
export const clipBox = (box: Box, margin: number, moved: Place, scale: number, size: number): Box => {
  const clip = (value: number): number => clamp(Math.round(value / scale), 0, size);
  return {
    left: clip(box.left - margin + moved.x),
    top: clip(box.top - margin + moved.y),
    right: clip(box.right + margin + moved.x),
    bottom: clip(box.bottom + margin + moved.y),
  };
};

/** The smallest box of whole pixels around places. */
export const boxAround = (places: readonly Place[]): Box => ({
  left: Math.floor(Math.min(...places.map(({ x }) => x))),
  top: Math.floor(Math.min(...places.map(({ y }) => y))),
  right: Math.ceil(Math.max(...places.map(({ x }) => x))),
  bottom: Math.ceil(Math.max(...places.map(({ y }) => y))),
});
