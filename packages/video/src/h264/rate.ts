/** Bounds the bits of a film: a quantizer for each group of pictures, by the bits of the group before. */

/** The quantizer of pictures that are not too large. */
export const QUANTIZER = 24;
const MAX_QUANTIZER = 51;
/** Speech in front of a calm background has 0.3 to 0.7 Mbit/s, a photo full of noise had 6. */
export const MAX_BITS_PER_SECOND = 1_500_000;
/** Six more halve the bits. */
const STEPS_PER_HALF = 6;

/** The quantizer of the next group. `bitsPerSecond`: of the last one, which had `quantizer`. */
export const nextQuantizer = (quantizer: number, bitsPerSecond: number): number => {
  const steps = Math.ceil(STEPS_PER_HALF * Math.log2(Math.max(1, bitsPerSecond) / MAX_BITS_PER_SECOND));
  return Math.min(MAX_QUANTIZER, Math.max(QUANTIZER, quantizer + steps));
};
