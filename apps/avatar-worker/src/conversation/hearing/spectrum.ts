/**
 * Magnitudes of short pieces of sound, the input of the network. The original model computes the same values by a
 * convolution.
 */
import { createFourier } from "@realtime-avatar/face/sound/fourier";

const SIZE = 256;
/** Samples between the starts of two pieces. */
const HOP = 128;
/** Number of frequencies from 0 to 8 kHz. */
export const BINS = SIZE / 2 + 1;
/** Number of pieces in a window of the network. */
export const PIECES = 4;

/** A Hann window. */
const TAPER = Float64Array.from({ length: SIZE }, (_, index) => 0.5 - 0.5 * Math.cos((2 * Math.PI * index) / SIZE));

/** Every call overwrites these arrays. They are shared, because all calls of a process run in one thread. */
const { real, imaginary, reversed, transform } = createFourier(SIZE);

/** Transforms two pieces at once: one as the real part, the other as the imaginary part. */
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

/**
 * Writes the magnitudes of four pieces as `magnitudes[bin * 4 + piece]`. The pieces start 128 samples apart and have
 * 256 samples each.
 */
export const measureSpectrum = (sound: Float32Array, magnitudes: Float64Array): void => {
  for (let piece = 0; piece < PIECES; piece += 2) measureTwo(sound, piece, magnitudes);
};
