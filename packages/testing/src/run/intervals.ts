/** Counts the intervals that begin from now on and have not ended. */
export const countIntervals = () => {
  const open = new Set<unknown>();
  const real = { setInterval, clearInterval };
  globalThis.setInterval = ((...parts: Parameters<typeof setInterval>) => {
    const timer = real.setInterval(...parts);
    open.add(timer);
    return timer;
  }) as typeof setInterval;
  globalThis.clearInterval = ((timer: NodeJS.Timeout) => {
    open.delete(timer);
    real.clearInterval(timer);
  }) as typeof clearInterval;
  return { open: () => open.size, restore: () => Object.assign(globalThis, real) };
};
