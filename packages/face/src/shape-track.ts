/** The shapes of the mouth by the clock of the call. */
import { mix } from "./numbers.ts";
import type { Shape } from "./visemes.ts";

/** Closed lips and no sound. */
export const SILENT: Shape = { open: 0, wide: 0, round: 0, closed: 1, tuck: 0, tongue: 0, level: -4 };

/** Without a newer shape, a shape lasts for this time. Then silence follows. */
const HOLD_MS = 80;
/** Shapes closer than this belong to one piece of sound. */
const LARGEST_STEP_MS = 30;
/** Shapes that are earlier than the last picture by more than this are not read again. */
const PAST_MS = 1000;
/** One minute. If more of a voice is known in advance, its oldest shapes are dropped. */
const MAX_SHAPES = 6000;

/** Interpolates two shapes. */
export const mixShapes = (from: Shape, to: Shape, share: number): Shape => ({
  open: mix(from.open, to.open, share),
  wide: mix(from.wide, to.wide, share),
  round: mix(from.round, to.round, share),
  closed: mix(from.closed, to.closed, share),
  tuck: mix(from.tuck, to.tuck, share),
  tongue: mix(from.tongue, to.tongue, share),
  level: mix(from.level, to.level, share),
});

export type ShapeTrack = {
  /** Adds a shape. It replaces all shapes of the same time and later. */
  add: (timeMs: number, shape: Shape) => void;
  /** The shape of a time. */
  at: (timeMs: number) => Shape;
  /** The time of the newest shape. Before the first one: minus infinity. */
  newestMs: () => number;
  /** Drops the shapes that no picture of this time or later needs. */
  forgetBefore: (timeMs: number) => void;
  /** The number of shapes in memory. */
  size: () => number;
};

export const createShapeTrack = (): ShapeTrack => {
  const times: number[] = [];
  const shapes: Shape[] = [];

  const forget = (count: number): void => {
    if (count <= 0) return;
    times.splice(0, count);
    shapes.splice(0, count);
  };

  /** The number of shapes up to a time. */
  const countUntil = (timeMs: number): number => {
    let [low, high] = [0, times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((times[middle] as number) <= timeMs) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  return {
    add: (timeMs, shape) => {
      while (times.length > 0 && (times.at(-1) as number) >= timeMs) {
        times.pop();
        shapes.pop();
      }
      times.push(timeMs);
      shapes.push(shape);
      if (times.length > MAX_SHAPES) forget(times.length - MAX_SHAPES);
    },
    at: (timeMs) => {
      const next = countUntil(timeMs);
      const [before, after] = [shapes[next - 1], shapes[next]];
      if (before === undefined) return SILENT;
      const age = timeMs - (times[next - 1] as number);
      const step = (times[next] ?? Number.POSITIVE_INFINITY) - (times[next - 1] as number);
      if (after !== undefined && step <= LARGEST_STEP_MS) return mixShapes(before, after, age / step);
      return age <= HOLD_MS ? before : SILENT;
    },
    newestMs: () => times.at(-1) ?? Number.NEGATIVE_INFINITY,
    forgetBefore: (timeMs) => forget(countUntil(timeMs - PAST_MS)),
    size: () => times.length,
  };
};
