/** Gestures that a face makes on request. */
import { smoothstep } from "../numbers.ts";
import { lidAt } from "./blinks.ts";

/** The values that a gesture adds to a pose. See `Pose`. */
type Moves = { yaw: number; pitch: number; brow: number; smile: number; wink: number };
const NO_MOVES: Moves = { yaw: 0, pitch: 0, brow: 0, smile: 0, wink: 0 };

/** Rises from 0 to 1 and falls back to 0 in `length` seconds, with slopes of `slope` seconds. */
const swell = (seconds: number, length: number, slope: number): number =>
  smoothstep(0, slope, seconds) * smoothstep(length, length - slope, seconds);

/** The duration of each gesture in seconds, and the values that it adds, by the seconds since its begin. */
const MOVES = {
  nod: {
    seconds: 1.1,
    at: (t: number) => ({ pitch: 0.08 * swell(t, 1.1, 0.2) * Math.sin((2 * Math.PI * t) / 1.1) ** 2 }),
  },
  shake_head: {
    seconds: 1.2,
    at: (t: number) => ({ yaw: 0.09 * swell(t, 1.2, 0.2) * Math.sin((2 * Math.PI * t) / 0.6) }),
  },
  raise_brows: { seconds: 1, at: (t: number) => ({ brow: swell(t, 1, 0.2) }) },
  smile: { seconds: 2.4, at: (t: number) => ({ smile: 0.7 * swell(t, 2.4, 0.5) }) },
  wink: { seconds: 0.4, at: (t: number) => ({ wink: lidAt(0.75 * t) }) },
} satisfies Record<string, { seconds: number; at: (seconds: number) => Partial<Moves> }>;

export type Gesture = keyof typeof MOVES;
export const GESTURES = Object.keys(MOVES) as Gesture[];

export type Gestures = {
  /** Makes a gesture from the next picture on. Returns false during another gesture. */
  begin: (gesture: Gesture) => boolean;
  at: (seconds: number) => Moves;
};

export const createGestures = (): Gestures => {
  let current: Gesture | null = null;
  let startedAt: number | null = null;
  return {
    begin: (gesture) => {
      if (current !== null) return false;
      current = gesture;
      startedAt = null;
      return true;
    },
    at: (seconds) => {
      if (current === null) return NO_MOVES;
      startedAt ??= seconds;
      const { seconds: length, at } = MOVES[current];
      const passed = seconds - startedAt;
      if (passed < length) return { ...NO_MOVES, ...at(passed) };
      current = null;
      return NO_MOVES;
    },
  };
};
