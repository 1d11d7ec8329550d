/** The time for which the worker may be in its rooms. */

export type Lease = {
  /** A sync that was sent at `sentAt`, by `performance.now()`, was answered with a lease of so many seconds. */
  renew(sentAt: number, seconds: number): void;
  isHeld(): boolean;
  /** How long it is still held, in milliseconds; not positive when it has ended. */
  restMs(): number;
  stop(): void;
};

/**
 * A lease counts from the moment the sync was sent, which is before the service gave it: so it ends here before the service
 * gives the calls to another worker. `onEnd` is called each time it ends.
 */
export const createLease = (onEnd: () => void): Lease => {
  let endsAt = 0;
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    clearTimeout(timer);
    timer = undefined;
    onEnd();
  };
  return {
    renew: (sentAt, seconds) => {
      // A process that was stopped may read a response before its timers run.
      if (timer !== undefined && performance.now() >= endsAt) end();
      endsAt = sentAt + seconds * 1000;
      clearTimeout(timer);
      timer = setTimeout(end, Math.max(0, endsAt - performance.now()));
    },
    isHeld: () => performance.now() < endsAt,
    restMs: () => endsAt - performance.now(),
    stop: () => clearTimeout(timer),
  };
};
