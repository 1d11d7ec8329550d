/** Magnitudes of short pieces of sound: the first step of the network, which computes them by a convolution with the same values. */
import { createFourier } from "@realtime-avatar/face/sound/fourier";

const SIZE = 256;
/** Samples from one piece to the next. */
const HOP = 128;
/** Frequencies from 0 to 8 kHz. */
export const BINS = SIZE / 2 + 1;
/** Pieces of one window of the network. */
export const PIECES = 4;

/** A Hann window. */
const TAPER = Float64Array.from({ length: SIZE }, (_, index) => 0.5 - 0.5 * Math.cos((2 * Math.PI * index) / SIZE));

/** Each call overwrites its arrays. All calls of a process are in one thread. */
const { real, imaginary, reversed, transform } = createFourier(SIZE);

/** Transforms two pieces at once: one as the real part, the next one as the imaginary part. */
const measureTwo = (sound: Float32Array, piece: number, magnitudes: Float64Array): void => {
  const start = piece * HOP;
  for (let index = 0; index < SIZE; index++) {
    const source = reversed[index] as number;
    const weight = TAPER[source] as number;
    real[index] = (sound[start + source] as number) * weight;
    imaginary[index] = (sound[start + HOP + source] as number) * weight;
  }
  transform();
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
