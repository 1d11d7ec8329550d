/** An avatar without a face: its picture, which grows with the loudness of the voice. */
import { loudness } from "./loudness.ts";

/** The number of pictures of a portrait, the smallest first. */
const STEPS = 8;
/** How much larger each step is than the one before it. */
const GROWTH = 0.02;
/** The loudness of the first and of the last step, in decibels below the loudest. */
const QUIET_DB = -45;
const LOUD_DB = -12;
/**
 * The share of the loudness that remains from one frame of sound to the next. So the picture grows at once and shrinks
 * slowly.
 */
const DECAY = 0.85;

/** The scale of the picture of each step, from 1 on. */
export const PORTRAIT_SCALES: readonly number[] = Array.from({ length: STEPS }, (_, step) => 1 + step * GROWTH);

/** The step of a loudness from 0 to 1. */
const loudnessStep = (level: number): number => {
  if (level <= 0) return 0;
  const share = (20 * Math.log10(level) - QUIET_DB) / (LOUD_DB - QUIET_DB);
  return Math.round(Math.min(1, Math.max(0, share)) * (STEPS - 1));
};

/** A loudness, and the time when it is heard. */
type Level = { level: number; heardAt: number };

/** Returns the loudness of the sound that is heard now. The sound is passed earlier. */
const createLevelMeter = () => {
  let waiting: Level[] = [];
  let current = 0;
  const at = (now: number): number => {
    while (waiting[0] && waiting[0].heardAt <= now) {
      current = Math.max((waiting.shift() as Level).level, current * DECAY);
    }
    return current;
  };
  return {
    hear: (level: number, now: number, delayMs: number): void => {
      // Bounds the list, because no picture reads the loudness while the call has no viewers.
      at(now);
      waiting.push({ level, heardAt: now + delayMs });
    },
    clear: (): void => {
      waiting = [];
    },
    at,
  };
};

/** All times are milliseconds of one monotonic clock of the caller. */
export type Portrait<Picture> = {
  /** Passes a piece of 20 ms of the voice. Its first sample is heard `delayMs` after `nowMs`. */
  hear: (pcm: Int16Array, delayMs: number, nowMs: number) => void;
  /** The picture for `nowMs`: one of `pictures`. */
  picture: (nowMs: number) => Picture;
  /** Interrupts the voice: drops the sound that is not heard yet. */
  clear: () => void;
};

/** `pictures`: the same picture enlarged by each of `PORTRAIT_SCALES`. */
export const createPortrait = <Picture>(pictures: readonly Picture[]): Portrait<Picture> => {
  if (pictures.length !== STEPS) throw new RangeError(`A portrait has ${STEPS} pictures.`);
  const meter = createLevelMeter();
  return {
    hear: (pcm, delayMs, nowMs) => meter.hear(loudness(pcm), nowMs, delayMs),
    picture: (nowMs) => pictures[loudnessStep(meter.at(nowMs))] as Picture,
    clear: meter.clear,
  };
};
