/** The energy of 24 bands, equally wide in mel, from 80 to 7600 Hz. */
import { createSpectrum, FFT_SIZE } from "./spectrum.ts";

export const BANDS = 24;
/** Samples at 16 kHz: a window of 25 ms, each 10 ms. */
export const WINDOW = 400;
export const HOP = 160;
const RATE = 16_000;
const LOWEST_HZ = 80;
const HIGHEST_HZ = 7600;
/** Added to each energy, so that the logarithm of silence is -7. */
const FLOOR = 1e-7;

const HANN = Float32Array.from({ length: WINDOW }, (_, index) => 0.5 - 0.5 * Math.cos((2 * Math.PI * index) / WINDOW));

const melFromHz = (hz: number): number => 2595 * Math.log10(1 + hz / 700);
const hzFromMel = (mel: number): number => 700 * (10 ** (mel / 2595) - 1);

/** A triangle over the spectrum: the index of its first weight, and the weights. */
type Band = { first: number; weights: Float32Array };

const createBands = (): Band[] => {
  const lowest = melFromHz(LOWEST_HZ);
  const step = (melFromHz(HIGHEST_HZ) - lowest) / (BANDS + 1);
  const edge = (index: number): number => hzFromMel(lowest + step * index);
  return Array.from({ length: BANDS }, (_, band) => {
    const [from, middle, to] = [edge(band), edge(band + 1), edge(band + 2)];
    const triangle = Array.from({ length: FFT_SIZE / 2 + 1 }, (_, k) => {
      const hz = (k * RATE) / FFT_SIZE;
      return Math.max(0, Math.min((hz - from) / (middle - from), (to - hz) / (to - middle)));
    });
    const first = triangle.findIndex((weight) => weight > 0);
    const last = triangle.findLastIndex((weight) => weight > 0);
    return { first, weights: Float32Array.from(triangle.slice(first, last + 1)) };
  });
};
const TRIANGLES = createBands();

/**
 * Returns a function that gives the decimal logarithms of the energy of the 24 bands, of `WINDOW` samples from `start` on. The
 * result is overwritten by the next call.
 */
export const createMelBands = (): ((samples: Float32Array, start: number) => Float32Array) => {
  const spectrum = createSpectrum(HANN);
  const bands = new Float32Array(BANDS);
  return (samples, start) => {
    const power = spectrum(samples, start);
    for (const [index, { first, weights }] of TRIANGLES.entries()) {
      let energy = FLOOR;
      for (let k = 0; k < weights.length; k++) energy += (power[first + k] as number) * (weights[k] as number);
      bands[index] = Math.log10(energy);
    }
    return bands;
  };
};
