/** How long a call lasts, as the service counts it. */

/** The service writes what a call has used every ten seconds. Between two reports the page counts on, by no more than that. */
const MAX_AHEAD_MS = 10_000;

/** `seconds`: those of the service; null before the call has begun. `isRunning`: whether the avatar is there, so that seconds count. */
export type MeterInput = { seconds: number | null; isRunning: boolean };

/**
 * Returns a function to call often, with a time in milliseconds by any steady clock, which returns whole seconds: never fewer than
 * the service has counted, at most ten more, and never fewer than before.
 */
export const newMeter = (): ((now: number, input: MeterInput) => number) => {
  let reported = -1;
  let ahead = 0;
  let before = 0;
  let shown = 0;
  return (now, { seconds, isRunning }) => {
    if (seconds === null) return shown;
    if (seconds !== reported) [reported, ahead] = [seconds, 0];
    else if (isRunning) ahead = Math.min(MAX_AHEAD_MS, ahead + now - before);
    before = now;
    shown = Math.max(shown, Math.ceil(seconds) + Math.floor(ahead / 1000));
    return shown;
  };
};
