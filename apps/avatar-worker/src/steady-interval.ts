/** A timer whose delays do not add up. */

/** The clock and the timers; those of the process, when a test gives no others. In milliseconds. */
export type Timing = { now: () => number; later: (step: () => void, ms: number) => () => void };

const PROCESS: Timing = {
  now: () => performance.now(),
  later: (step, ms) => {
    const timer = setTimeout(step, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * Calls `step` each `intervalMs` from the first interval on, by the clock: a call that is late by less than an interval does not delay
 * those after it, as it would with `setInterval`. Those that were missed meanwhile are left out. Returns a function that ends it.
 */
export const startSteadyInterval = (intervalMs: number, step: () => void, { now, later } = PROCESS): (() => void) => {
  let due = now() + intervalMs;
  let cancel = (): void => {};
  const wait = (): void => {
    cancel = later(run, Math.max(0, due - now()));
  };
  const run = (): void => {
    const missed = Math.floor(Math.max(0, now() - due) / intervalMs);
    due += (missed + 1) * intervalMs;
    // Before the step, which can end it.
    wait();
    step();
  };
  wait();
  return () => cancel();
};
