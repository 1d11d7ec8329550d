/**
 * Waits for `ms` milliseconds, or until `signal` is aborted. Then nothing refers to the wait any longer. A race with a
 * promise that stays pending would keep 64 bytes of each wait.
 */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
