/** Voice activity detection: the likelihood that a window of sound is speech. */
import { createState, evaluate, type Network } from "./network.ts";
import { BINS, measureSpectrum, PIECES } from "./spectrum.ts";

/** The rate that the network takes, in Hz. */
export const VAD_RATE = 16_000;
/** Samples of one window: 32 ms. */
export const WINDOW_SAMPLES = 512;
/** The last samples of the previous window, which are part of the input. */
const CONTEXT_SAMPLES = 64;
/** The sound is padded with its mirror image. */
const MIRROR_SAMPLES = 64;
const END = CONTEXT_SAMPLES + WINDOW_SAMPLES;

export type Vad = {
  /** The likelihood of speech in the next 512 samples at 16 kHz, from 0 to 1. Takes 0.2 ms. */
  hear(window: Float32Array): number;
  /** Skips a window that is known to be silence. The state of the network stays. */
  skip(window: Float32Array): void;
};

/** Every window overwrites these arrays. They are shared, because all calls of a process run in one thread. */
const sound = new Float32Array(END + MIRROR_SAMPLES);
const magnitudes = new Float64Array(BINS * PIECES);

/** The voice activity of one speaker. Allocates nothing for a window. */
export const createVad = (network: Network): Vad => {
  const state = createState();
  const context = new Float32Array(CONTEXT_SAMPLES);
  const skip = (window: Float32Array): void => {
    for (let index = 0; index < CONTEXT_SAMPLES; index++) {
      context[index] = window[WINDOW_SAMPLES - CONTEXT_SAMPLES + index] as number;
    }
  };
  return {
    hear: (window) => {
      if (window.length !== WINDOW_SAMPLES) throw new Error(`a window has ${window.length} samples`);
      sound.set(context);
      sound.set(window, CONTEXT_SAMPLES);
      for (let index = 0; index < MIRROR_SAMPLES; index++) sound[END + index] = sound[END - 2 - index] as number;
      measureSpectrum(sound, magnitudes);
      skip(window);
      return evaluate(network, magnitudes, state);
    },
    skip,
  };
};
