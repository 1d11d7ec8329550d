/**
 * The sound of a turn. It includes a moment before the turn, because the first sound of speech is too faint to be
 * detected.
 */
import { VAD_RATE, WINDOW_SAMPLES } from "./vad.ts";

/** Sound before the first speech that belongs to a turn: 320 ms. */
const BEFORE_SAMPLES = 10 * WINDOW_SAMPLES;
const FIRST_CAPACITY = 4 * VAD_RATE;

const toInt16 = (value: number): number => Math.max(-32_768, Math.min(32_767, Math.round(value * 32_768)));

export type TurnSound = {
  /** Adds a window. Without `isKept`, only the last 320 ms are kept. */
  add(window: Float32Array, isKept: boolean): void;
  /** The length in samples. */
  length(): number;
  /** A copy of the sound, 16-bit PCM at 16 kHz. */
  copy(): Int16Array;
  /** Drops all except the last 320 ms. */
  reset(): void;
};

/** The caller bounds the length by calls of `reset`. */
export const createTurnSound = (): TurnSound => {
  let samples = new Int16Array(FIRST_CAPACITY);
  let length = 0;
  const keepLast = (count: number): void => {
    if (length <= count) return;
    samples.copyWithin(0, length - count, length);
    length = count;
  };
  return {
    add: (window, isKept) => {
      if (!isKept) keepLast(BEFORE_SAMPLES - WINDOW_SAMPLES);
      if (length + window.length > samples.length) {
        const larger = new Int16Array(2 * samples.length);
        larger.set(samples.subarray(0, length));
        samples = larger;
      }
      for (let index = 0; index < window.length; index++) samples[length + index] = toInt16(window[index] as number);
      length += window.length;
    },
    length: () => length,
    copy: () => samples.slice(0, length),
    reset: () => {
      keepLast(BEFORE_SAMPLES);
      // A turn of a minute takes 2 MB, so a large buffer is released.
      if (samples.length > FIRST_CAPACITY)
        samples = Int16Array.from({ length: FIRST_CAPACITY }, (_, at) => samples[at] ?? 0);
    },
  };
};
