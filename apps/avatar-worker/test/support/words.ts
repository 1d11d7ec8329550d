/** The speech of a person in tests, in frames of 20 ms at 48 kHz. */
import {
  concat,
  mix,
  roomNoise,
  type Said,
  say,
  silence,
} from "../../src/conversation/hearing/testing/sounds-testing.ts";

const FRAME_SAMPLES = 960;
/** Resampling ratio, from 16 kHz. */
const RATIO = 3;

/** Words and pauses (in milliseconds), mixed with the noise of a quiet room. */
export const wordFrames = (...parts: readonly (Said | number)[]): Int16Array[] => {
  const sound = concat(...parts.map((part) => (typeof part === "number" ? silence(part) : say(part))));
  const noisy = mix(sound, roomNoise(sound.length));
  const value = (at: number): number => {
    const [index, share] = [Math.floor(at / RATIO), (at % RATIO) / RATIO];
    return ((noisy[index] ?? 0) * (1 - share) + (noisy[index + 1] ?? 0) * share) * 32_767;
  };
  return Array.from({ length: Math.floor((noisy.length * RATIO) / FRAME_SAMPLES) }, (_, frame) =>
    Int16Array.from({ length: FRAME_SAMPLES }, (_, at) => Math.round(value(frame * FRAME_SAMPLES + at))),
  );
};
