/** A rate limit for data from untrusted participants. */

/** `burst`: how much may come at once. `perSecond`: how much each second. */
export type Limit = { burst: number; perSecond: number };

/** Returns a function that counts, and throws above the limit. */
export const createMeter = ({ burst, perSecond }: Limit): ((count: number) => void) => {
  let excess = 0;
  let countedAt = performance.now();
  return (count) => {
    const now = performance.now();
    excess = Math.max(0, excess - ((now - countedAt) / 1000) * perSecond) + count;
    countedAt = now;
    if (excess > burst) throw new Error("too much");
  };
};
