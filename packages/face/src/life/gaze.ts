/** The gaze: small jumps around the camera. */
import type { Place } from "../warp/grid.ts";
import { approach, type Random } from "./random.ts";

/** Half of the jumps lead back to the camera. The others go this far at most, in eye distances. */
const BACK_SHARE = 0.5;
const SIDEWAYS = 0.011;
const UPWARDS = 0.006;
/** Seconds between two jumps. */
const SHORTEST = 0.5;
const LONGEST = 2.3;
/** Seconds for 63 % of a jump. */
const JUMP = 0.02;

/** Returns the offset of the irises in eye distances. */
export type Gaze = (seconds: number, passed: number) => Place;

export const createGaze = (random: Random): Gaze => {
  const now: Place = { x: 0, y: 0 };
  let goal: Place = { x: 0, y: 0 };
  let next = 0.8;
  return (seconds, passed) => {
    if (seconds >= next) {
      next = seconds + SHORTEST + (LONGEST - SHORTEST) * random();
      const isBack = random() < BACK_SHARE;
      goal = isBack ? { x: 0, y: 0 } : { x: SIDEWAYS * (2 * random() - 1), y: UPWARDS * (2 * random() - 1) };
    }
    const share = approach(passed, JUMP);
    now.x += (goal.x - now.x) * share;
    now.y += (goal.y - now.y) * share;
    return now;
  };
};
