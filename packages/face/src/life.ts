/** A living face: computes a pose from the shapes of its mouth and the time. The same seed gives the same movements. */
import { createAccent } from "./life/accent.ts";
import { createBlinks } from "./life/blinks.ts";
import { createGaze } from "./life/gaze.ts";
import { createGestures, type Gesture } from "./life/gestures.ts";
import { createHeadMove } from "./life/head.ts";
import { poseMouth, REACH_STEPS } from "./life/mouth.ts";
import { createRandom } from "./life/random.ts";
import { AHEAD_STEPS, createTalk } from "./life/talk.ts";
import { createThinking } from "./life/thinking.ts";
import { clamp } from "./numbers.ts";
import { shapesAround } from "./shape-at.ts";
import type { ShapeTrack } from "./shape-track.ts";
import type { Face } from "./warp/face.ts";
import { type Pose, REST } from "./warp/pose.ts";

/** One breath in seconds. */
const BREATH_SECONDS = 3.9;
/** The maximum time between two pictures. A longer time counts as this one. */
const LONGEST_STEP_SECONDS = 0.2;
/** Sound this many orders of magnitude below the peak counts as silence. */
const ENERGY_RANGE = 2.5;
/** A person who speaks holds the brows up by this share. */
const SPEAKING_BROW = 0.15;

export type Life = {
  /**
   * The pose of a picture whose middle is heard at `timeMs` of the clock. Times must rise. `own`: the share of the
   * movements of head and eyes: 0 in a film, which has other ones. Gestures are always whole.
   */
  pose: (timeMs: number, track: ShapeTrack, own?: number) => Pose;
  think: (isThinking: boolean) => void;
  /** Makes a gesture from the next picture on. Returns false while another one is made. */
  gesture: (gesture: Gesture) => boolean;
};

/** `seed`: an integer of 32 bits. */
export const createLife = (seed: number, { eyeDistance, lips }: Pick<Face, "eyeDistance" | "lips">): Life => {
  const random = createRandom(seed);
  const moveHead = createHeadMove(random);
  const moveGaze = createGaze(random);
  const blinks = createBlinks(random);
  const findAccent = createAccent();
  const findTalk = createTalk();
  // A separate sequence of random numbers, so that a thought leaves the other movements unchanged.
  const findThought = createThinking(createRandom(~seed));
  const gestures = createGestures();
  let isThinking = false;
  let startMs: number | null = null;
  let lastMs = 0;
  return {
    pose: (timeMs, track, own = 1) => {
      startMs ??= timeMs - 40;
      const passed = Math.min(LONGEST_STEP_SECONDS, (timeMs - Math.max(lastMs, startMs)) / 1000);
      lastMs = timeMs;
      const seconds = (timeMs - startMs) / 1000;
      const window = shapesAround(track, timeMs, Math.max(REACH_STEPS, AHEAD_STEPS));
      const { talk, hasPhraseEnded } = findTalk(window, passed);
      if (hasPhraseEnded) blinks.endPhrase(seconds);
      const energy = clamp(1 + window.raw(0).level / ENERGY_RANGE) * talk;
      const { nod, brow } = findAccent(energy, passed);
      const mouth = poseMouth(window, lips);
      const head = moveHead(seconds, talk, nod);
      const gaze = moveGaze(seconds, passed);
      const blink = blinks.at(seconds, talk);
      const thought = findThought(isThinking, passed);
      const made = gestures.at(seconds);
      return {
        ...REST,
        gap: mouth.gap,
        part: mouth.part * talk,
        wide: mouth.wide * talk,
        round: mouth.round * talk,
        closed: mouth.closed * talk,
        tuck: mouth.tuck * talk,
        tongue: mouth.tongue * talk,
        smile: mouth.smile * talk + made.smile,
        blinkLeft: Math.max(own > 0 ? blink : 0, made.wink),
        blinkRight: own > 0 ? blink : 0,
        brow: Math.max(SPEAKING_BROW * talk + (1 - SPEAKING_BROW) * brow, made.brow),
        yaw: own * (head.yaw + thought.yaw) + made.yaw,
        pitch: own * (head.pitch + thought.pitch) + made.pitch,
        roll: own * head.roll,
        shiftX: own * head.shiftX * eyeDistance,
        shiftY: own * head.shiftY * eyeDistance,
        breath: own * (Math.sin((2 * Math.PI * seconds) / BREATH_SECONDS) + thought.breath),
        gazeX: own * (gaze.x + thought.gazeX) * eyeDistance,
        gazeY: own * (gaze.y + thought.gazeY) * eyeDistance,
        talk,
      };
    },
    think: (thinks) => {
      isThinking = thinks;
    },
    gesture: gestures.begin,
  };
};
