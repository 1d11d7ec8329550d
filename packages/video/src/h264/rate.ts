/** Bounds the bits of a film: the bits of a group of pictures decide the quantizer of the next group. */

/** The quantizer while the bits are within the limit. */
export const QUANTIZER = 24;
const MAX_QUANTIZER = 51;
/** Speech in front of a calm background has 0.3 to 0.7 Mbit/s. A noisy photo had 6. */
export const MAX_BITS_PER_SECOND = 1_500_000;
/** Adding six halves the bits. */
const STEPS_PER_HALF = 6;

/** The quantizer of the next group. `bitsPerSecond`: of the last group, which had `quantizer`. */
export const nextQuantizer = (quantizer: number, bitsPerSecond: number): number => {
  const steps = Math.ceil(STEPS_PER_HALF * Math.log2(Math.max(1, bitsPerSecond) / MAX_BITS_PER_SECOND));
  return Math.min(MAX_QUANTIZER, Math.max(QUANTIZER, quantizer + steps));
};
