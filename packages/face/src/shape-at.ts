/** Combines shapes of 10 ms into the shape for a picture of 40 ms. */
import type { ShapeTrack } from "./shape-track.ts";
import { SHAPE_STEP_MS, type Shape } from "./visemes.ts";

/**
 * Weights from 30 ms before to 50 ms after, because the jaw and the corners of the mouth have mass. Without the
 * weights, the jaw flaps.
 */
const WEIGHTS = [1, 2, 3, 4, 5, 5, 4, 3, 2] as const;
const BEFORE = 3;
const SUM = WEIGHTS.reduce((sum, weight) => sum + weight, 0);
/** The weighted mean lowers the peaks of the jaw by this factor. */
const OPEN_GAIN = 1.06;

/** Shapes at steps of 10 ms around a picture. */
export type ShapeWindow = {
  /** The step of the newest shape. It can lie outside of the window. */
  newestStep: number;
  /** The shape of the sound, `step` steps after the middle of the picture. */
  raw: (step: number) => Shape;
  /**
   * The shape to draw. It includes a tuck of the lower lip, or a tongue, within 10 ms. Otherwise, at 25 pictures a
   * second, half of the f, v, th and l would be lost.
   */
  smooth: (step: number) => Shape;
};

/** Reads the shapes from `reach` steps before to `reach` steps after a time. */
export const shapesAround = (track: ShapeTrack, timeMs: number, reach: number): ShapeWindow => {
  const margin = WEIGHTS.length;
  const shapes = Array.from({ length: 2 * (reach + margin) + 1 }, (_, index) =>
    track.at(timeMs + SHAPE_STEP_MS * (index - reach - margin)),
  );
  const newestStep = Math.floor((track.newestMs() - timeMs) / SHAPE_STEP_MS);
  const raw = (step: number): Shape => shapes[step + reach + margin] as Shape;
  const smooth = (step: number): Shape => {
    let [open, wide, round] = [0, 0, 0];
    for (let index = 0; index < WEIGHTS.length; index++) {
      const weight = WEIGHTS[index] as number;
      const shape = raw(step - BEFORE + index);
      open += weight * shape.open;
      wide += weight * shape.wide;
      round += weight * shape.round;
    }
    const [before, now, after] = [raw(step - 1), raw(step), raw(step + 1)];
    const most = (name: "tuck" | "tongue"): number => Math.max(before[name], now[name], after[name]);
    return {
      open: (OPEN_GAIN * open) / SUM,
      wide: wide / SUM,
      round: round / SUM,
      closed: now.closed,
      tuck: most("tuck"),
      tongue: most("tongue"),
      level: now.level,
    };
  };
  return { newestStep, raw, smooth };
};
