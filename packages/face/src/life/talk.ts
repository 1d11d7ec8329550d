/** How much a person speaks: from 0, the mouth of the photo, to 1, a speaking mouth. */
import { clamp } from "../numbers.ts";
import type { ShapeWindow } from "../shape-at.ts";
import { SHAPE_STEP_MS, type Shape } from "../visemes.ts";

/** Sound below this level is silence. */
const SPEECH_LEVEL = -2.2;
/** Lips that are closed this much count as silent: the person is silent or hums. */
const SPEECH_CLOSED = 0.6;
/** The mouth prepares in this time before the first sound, or faster when the sound becomes known later. */
const READY_MS = 160;
/** A first p, b or m is shut this long before its sound. */
const READY_AT_MS = 90;
const FASTEST_SECONDS = 0.09;
/** After the first number of seconds of silence, the mouth of the photo returns within the second number of seconds. */
const PAUSE_SECONDS = 0.5;
const BACK_SECONDS = 0.6;
/** Silence that ends a phrase. */
const PHRASE_SECONDS = 0.18;

/** The range of the search for speech: steps of 10 ms after the picture. */
export const AHEAD_STEPS = (READY_MS + READY_AT_MS) / SHAPE_STEP_MS;

const isSpeech = ({ level, closed }: Shape): boolean => level > SPEECH_LEVEL && closed < SPEECH_CLOSED;

/** Milliseconds until the next speech, or infinity. */
const findSpeech = ({ raw }: ShapeWindow): number => {
  for (let step = 0; step <= AHEAD_STEPS; step++) if (isSpeech(raw(step))) return step * SHAPE_STEP_MS;
  return Number.POSITIVE_INFINITY;
};

export type Talk = { talk: number; hasPhraseEnded: boolean };

/** `passed`: seconds since the last picture. */
export const createTalk = (): ((window: ShapeWindow, passed: number) => Talk) => {
  let talk = 0;
  /** Seconds since the last speech, and since speech was last heard or expected. */
  let quiet = Number.POSITIVE_INFINITY;
  let idle = Number.POSITIVE_INFINITY;
  let isInPhrase = false;
  return (window, passed) => {
    const toSpeechMs = findSpeech(window);
    quiet = toSpeechMs === 0 ? 0 : quiet + passed;
    idle = toSpeechMs === Number.POSITIVE_INFINITY ? idle + passed : 0;
    const ready = clamp(1 - (toSpeechMs - READY_AT_MS) / READY_MS);
    if (ready > talk) talk = Math.min(ready, talk + passed / FASTEST_SECONDS);
    else if (idle > PAUSE_SECONDS) talk = Math.max(0, talk - passed / BACK_SECONDS);
    const hasPhraseEnded = isInPhrase && quiet > PHRASE_SECONDS;
    if (toSpeechMs === 0) isInPhrase = true;
    else if (hasPhraseEnded) isInPhrase = false;
    return { talk, hasPhraseEnded };
  };
};
