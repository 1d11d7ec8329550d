/** How long the worker may be in its rooms. */

export type Lease = {
  /** Renews the lease. `sentAt`: when the sync was sent, by `performance.now()`. `seconds`: the length of the lease. */
  renew(sentAt: number, seconds: number): void;
  isHeld(): boolean;
  /** Remaining time in milliseconds; zero or negative after the end. */
  restMs(): number;
  stop(): void;
};

/**
 * A lease counts from the moment when the sync was sent. The service counts from a later moment, so the lease ends here
 * before the service gives the calls to another worker. `onEnd`: called each time a lease ends.
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
