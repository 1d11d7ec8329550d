/** The length of a call, as the service counts it. */

/**
 * The service writes the usage of a call every ten seconds. Between two reports, the page counts further, by at most
 * this time.
 */
const MAX_AHEAD_MS = 10_000;

/**
 * `seconds`: the service's count; null before the call has begun. `isRunning`: the avatar is present, so seconds count.
 */
export type MeterInput = { seconds: number | null; isRunning: boolean };

/**
 * Returns a function that must be called often, with a time in milliseconds by any steady clock. It returns whole
 * seconds: at least the service's count, at most ten more, and never fewer than before.
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
