/** Small numeric functions. */

/** The number from `least` to `most` that is nearest to `value`. */
export const clamp = (value: number, least = 0, most = 1): number => Math.max(least, Math.min(value, most));

/** From 0 at `from` to 1 at `to`, with no slope at both ends. `from` may be the larger one. */
export const smoothstep = (from: number, to: number, value: number): number => {
  const share = clamp((value - from) / (to - from));
  return share * share * (3 - 2 * share);
};

/** Linear interpolation: `from` at a share of 0, `to` at a share of 1. */
export const mix = (from: number, to: number, share: number): number => from + (to - from) * share;
