/** How a process starts and ends. */

/** Called with what has to be closed at the end; the last to be registered is closed first. */
export type AtExit = (close: () => Promise<unknown>) => void;

/**
 * Runs `start`. If it throws, closes what it has registered, says why in one line on standard error, and exits with 1.
 * On SIGTERM or SIGINT, waits for the start to be over, closes everything, and exits with 0, or with 1 if that fails.
 * Further signals change nothing: Ctrl-C reaches a process twice when a script runner passes it on.
 */
export const runProcess = (start: (atExit: AtExit) => Promise<void>): void => {
  const closing: (() => Promise<unknown>)[] = [];
  const closeAll = async (): Promise<void> => {
    for (let close = closing.pop(); close; close = closing.pop()) await close();
  };
  const started = start((close) => closing.push(close)).catch(async (error: unknown) => {
    console.error(error instanceof Error ? error.message : "The process could not start.");
    await closeAll().catch(() => {});
    process.exit(1);
  });
  let isStopping = false;
  const stop = (): void => {
    if (isStopping) return;
    isStopping = true;
    started.then(closeAll).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
};
