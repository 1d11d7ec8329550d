/** Numbers for random histories. */

/** A source of numbers that is the same for each seed. */
export const numbersOf = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
};
export type Numbers = ReturnType<typeof numbersOf>;
