/** The power spectrum of a short piece of sound: a Fourier transform of 512 points, in place, radix 2. */

export const FFT_SIZE = 512;
const BITS = 9;

const COSINES = Float64Array.from({ length: FFT_SIZE / 2 }, (_, index) => Math.cos((2 * Math.PI * index) / FFT_SIZE));
const SINES = Float64Array.from({ length: FFT_SIZE / 2 }, (_, index) => -Math.sin((2 * Math.PI * index) / FFT_SIZE));
const REVERSED = Uint16Array.from({ length: FFT_SIZE }, (_, index) => {
  let reversed = 0;
  for (let bit = 0; bit < BITS; bit++) reversed |= ((index >> bit) & 1) << (BITS - 1 - bit);
  return reversed;
});

/** Combines the transforms of two halves of `half` points each into one of twice the size, for all pairs of the array. */
const combineHalves = (real: Float64Array, imaginary: Float64Array, half: number): void => {
  const step = FFT_SIZE / (2 * half);
  for (let k = 0; k < half; k++) {
    const cosine = COSINES[k * step] as number;
    const sine = SINES[k * step] as number;
    for (let low = k; low < FFT_SIZE; low += 2 * half) {
      const high = low + half;
      const a = real[low] as number;
      const b = imaginary[low] as number;
      const c = real[high] as number;
      const d = imaginary[high] as number;
      const turnedReal = c * cosine - d * sine;
      const turnedImaginary = c * sine + d * cosine;
      real[high] = a - turnedReal;
      imaginary[high] = b - turnedImaginary;
      real[low] = a + turnedReal;
      imaginary[low] = b + turnedImaginary;
    }
  }
};

/**
 * Returns a function that gives the power at 0 to 8 kHz in 257 steps of 31.25 Hz, of a piece of at most 512 samples at 16 kHz.
 * The result is overwritten by the next call.
 */
export const createSpectrum = (window: Float32Array): ((samples: Float32Array, start: number) => Float64Array) => {
  const real = new Float64Array(FFT_SIZE);
  const imaginary = new Float64Array(FFT_SIZE);
  const power = new Float64Array(FFT_SIZE / 2 + 1);
  return (samples, start) => {
    for (let index = 0; index < FFT_SIZE; index++) {
      const source = REVERSED[index] as number;
      real[index] = source < window.length ? (samples[start + source] as number) * (window[source] as number) : 0;
      imaginary[index] = 0;
    }
    for (let half = 1; half < FFT_SIZE; half *= 2) combineHalves(real, imaginary, half);
    for (let k = 0; k < power.length; k++) power[k] = (real[k] as number) ** 2 + (imaginary[k] as number) ** 2;
    return power;
  };
};
