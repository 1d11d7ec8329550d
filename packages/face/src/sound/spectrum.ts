/** The power spectrum of a short piece of sound. */
import { createFourier } from "./fourier.ts";

export const FFT_SIZE = 512;

/**
 * Returns a function that gives the power at 0 to 8 kHz in 257 steps of 31.25 Hz, of a piece of at most 512 samples at 16 kHz.
 * The result is overwritten by the next call.
 */
export const createSpectrum = (window: Float32Array): ((samples: Float32Array, start: number) => Float64Array) => {
  const { real, imaginary, reversed, transform } = createFourier(FFT_SIZE);
  const power = new Float64Array(FFT_SIZE / 2 + 1);
  return (samples, start) => {
    for (let index = 0; index < FFT_SIZE; index++) {
      const source = reversed[index] as number;
      real[index] = source < window.length ? (samples[start + source] as number) * (window[source] as number) : 0;
      imaginary[index] = 0;
    }
    transform();
    for (let k = 0; k < power.length; k++) power[k] = (real[k] as number) ** 2 + (imaginary[k] as number) ** 2;
    return power;
  };
};
