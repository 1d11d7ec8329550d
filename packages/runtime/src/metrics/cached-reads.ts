/** Numbers that a metric reads from the database. */

/** How long the numbers are used for further scrapes. */
const CACHE_MS = 10_000;

/**
 * Reads at most once in `CACHE_MS`; calls meanwhile share the numbers. When the read fails they are `unknown`, because
 * old numbers would look current.
 */
export const cachedReads = <Stats>(read: () => Promise<Stats>, unknown: Stats): (() => Promise<Stats>) => {
  let last: { at: number; stats: Promise<Stats> } | null = null;
  return () => {
    if (last === null || performance.now() - last.at > CACHE_MS) {
      last = { at: performance.now(), stats: read().catch(() => unknown) };
    }
    return last.stats;
  };
};
