/**
 * The movements of a person who thinks of an answer: the eyes look away, the head follows a little, and the person
 * takes a breath.
 */
import { approach, type Random } from "./random.ts";

/** Shorter thoughts are not drawn. */
const LEAST_SECONDS = 0.25;
/** The eyes look away for this long, then look at the camera for a while, repeatedly. */
const AWAY_SECONDS = 1.8;
const BACK_SECONDS = 0.9;
/** Offsets of the irises in eye distances, and angles of the head in radians. */
const SIDEWAYS = 0.032;
const UPWARDS = 0.016;
const YAW = 0.045;
const PITCH = 0.02;
const BREATH = 0.9;
/** Seconds for 63 % of a movement. */
const EYES = 0.03;
const HEAD = 0.22;
const CHEST = 0.35;

/** The values that a thought adds to a pose. See `Pose`; the offset of the irises is in eye distances. */
export type Thought = { gazeX: number; gazeY: number; yaw: number; pitch: number; breath: number };

/** Returns the values to add at a time. `passed`: seconds since the last picture. */
export const createThinking = (random: Random): ((isThinking: boolean, passed: number) => Thought) => {
  /** Targets: for the eyes and the head, 1 times the side; for the breath, 1. */
  let [eyes, head, breath] = [0, 0, 0];
  let thought = 0;
  let side = 1;
  return (isThinking, passed) => {
    if (!isThinking) thought = 0;
    else if (thought === 0) side = random() < 0.5 ? -1 : 1;
    if (isThinking) thought += passed;
    const isSeen = thought >= LEAST_SECONDS;
    const isAway = isSeen && (thought - LEAST_SECONDS) % (AWAY_SECONDS + BACK_SECONDS) < AWAY_SECONDS;
    eyes += ((isAway ? 1 : 0) - eyes) * approach(passed, EYES);
    head += ((isAway ? 1 : 0) - head) * approach(passed, HEAD);
    breath += ((isSeen ? 1 : 0) - breath) * approach(passed, CHEST);
    return {
      gazeX: SIDEWAYS * side * eyes,
      gazeY: -UPWARDS * eyes,
      yaw: YAW * side * head,
      pitch: -PITCH * head,
      breath: BREATH * breath,
    };
  };
};
