/** A wait that can be ended early. */
export const createWaking = () => {
  let waking = new AbortController();
  return {
    /** Ends the wait; without one, the next wait. */
    wake: (): void => waking.abort(),
    /** Waits for `work`, which must end when its signal is aborted. */
    wait: async (work: (signal: AbortSignal) => Promise<void>): Promise<void> => {
      await work(waking.signal);
      waking = new AbortController();
    },
  };
};
