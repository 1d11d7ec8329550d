/** Random numbers: the same seed gives the same numbers. */

/** Returns numbers from 0, inclusive, to 1, exclusive. */
export type Random = () => number;

/** The generator mulberry32. `seed`: an integer of 32 bits. */
export const createRandom = (seed: number): Random => {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** A number of the normal distribution with mean 0 and deviation 1, by Box and Muller. */
export const randomNormal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** Smooth noise from -1 to 1 with mean 0: sines whose periods in seconds have no common multiple. */
export const createNoise = (random: Random, periods: readonly number[]): ((seconds: number) => number) => {
  const phases = periods.map(() => 2 * Math.PI * random());
  return (seconds) => {
    let sum = 0;
    periods.forEach((period, index) => {
      sum += Math.sin((2 * Math.PI * seconds) / period + (phases[index] as number));
    });
    return sum / periods.length;
  };
};

/**
 * The share of the distance to a target that an exponential approach covers in a time. `constant`: the time for 63 % of
 * the distance.
 */
export const approach = (time: number, constant: number): number => 1 - Math.exp(-time / constant);
