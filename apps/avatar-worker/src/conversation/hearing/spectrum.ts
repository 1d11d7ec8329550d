/** Magnitudes of short pieces of sound: the first step of the network, which computes them by a convolution with the same values. */

const SIZE = 256;
const HALF = SIZE / 2;
const BITS = 8;
/** Samples from one piece to the next. */
const HOP = 128;
/** Frequencies from 0 to 8 kHz. */
export const BINS = HALF + 1;
/** Pieces of one window of the network. */
export const PIECES = 4;

const COSINES = Float64Array.from({ length: HALF }, (_, index) => Math.cos((2 * Math.PI * index) / SIZE));
const SINES = Float64Array.from({ length: HALF }, (_, index) => -Math.sin((2 * Math.PI * index) / SIZE));
/** A Hann window. */
const TAPER = Float64Array.from({ length: SIZE }, (_, index) => 0.5 - 0.5 * Math.cos((2 * Math.PI * index) / SIZE));
const REVERSED = Uint8Array.from({ length: SIZE }, (_, index) => {
  let reversed = 0;
  for (let bit = 0; bit < BITS; bit++) reversed |= ((index >> bit) & 1) << (BITS - 1 - bit);
  return reversed;
});

/** Each call overwrites them. All calls of a process are in one thread. */
const real = new Float64Array(SIZE);
const imaginary = new Float64Array(SIZE);

/** Combines the transforms of halves of `half` points each into those of twice the size. */
const combineHalves = (half: number): void => {
  const step = HALF / half;
  for (let k = 0; k < half; k++) {
    const cosine = COSINES[k * step] as number;
    const sine = SINES[k * step] as number;
    for (let low = k; low < SIZE; low += 2 * half) {
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

/** Transforms two pieces at once: one as the real part, the next one as the imaginary part. */
const measureTwo = (sound: Float32Array, piece: number, magnitudes: Float64Array): void => {
  const start = piece * HOP;
  for (let index = 0; index < SIZE; index++) {
    const source = REVERSED[index] as number;
    const weight = TAPER[source] as number;
    real[index] = (sound[start + source] as number) * weight;
    imaginary[index] = (sound[start + HOP + source] as number) * weight;
  }
  for (let half = 1; half < SIZE; half *= 2) combineHalves(half);
  for (let k = 0; k < BINS; k++) {
    const mirror = (SIZE - k) % SIZE;
    const a = real[k] as number;
    const b = imaginary[k] as number;
    const c = real[mirror] as number;
    const d = imaginary[mirror] as number;
    magnitudes[k * PIECES + piece] = Math.sqrt((a + c) ** 2 + (b - d) ** 2) / 2;
    magnitudes[k * PIECES + piece + 1] = Math.sqrt((b + d) ** 2 + (c - a) ** 2) / 2;
  }
};

/** Writes the magnitudes of four pieces, which start 128 samples apart and have 256 each: `magnitudes[bin * 4 + piece]`. */
export const measureSpectrum = (sound: Float32Array, magnitudes: Float64Array): void => {
  for (let piece = 0; piece < PIECES; piece += 2) measureTwo(sound, piece, magnitudes);
};
