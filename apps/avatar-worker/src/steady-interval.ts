/** A timer whose delays do not add up. */

/** The clock and the timers, in milliseconds. Default: those of the process. */
export type Timing = { now: () => number; later: (step: () => void, ms: number) => () => void };

const PROCESS: Timing = {
  now: () => performance.now(),
  later: (step, ms) => {
    const timer = setTimeout(step, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * Calls `step` every `intervalMs` by the clock. Unlike with `setInterval`, a step that is late by less than an interval
 * does not delay later steps. Missed steps are skipped. Returns a function that stops the timer.
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
    // Scheduled before the step, because the step can stop the timer.
    wait();
    step();
  };
  wait();
  return () => cancel();
};
