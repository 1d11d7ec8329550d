/** How a process starts and ends. */

/** Runs `start`; what goes wrong is said in one line on standard error, and the process exits with 1. */
export const runProcess = async (start: () => Promise<void>): Promise<void> => {
  try {
    await start();
  } catch (error) {
    console.error(error instanceof Error ? error.message : "The process could not start.");
    process.exit(1);
  }
};

/**
 * On SIGTERM or SIGINT, runs `stop` and exits: with 0, or with 1 if it fails. Further signals change nothing: Ctrl-C
 * reaches a process twice when a script runner passes it on.
 */
export const onShutdown = (stop: () => Promise<void>): void => {
  let isStopping = false;
  const shutDown = (): void => {
    if (isStopping) return;
    isStopping = true;
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on("SIGTERM", shutDown);
  process.on("SIGINT", shutDown);
};
