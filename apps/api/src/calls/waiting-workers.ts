/**
 * The syncs of avatar workers that wait for work. One statement for all of them asks every 100 ms who has work: a worker hears
 * of a call at once, and an idle worker costs one statement a second of its own.
 */
import { describeError } from "@realtime-avatar/db/connection/errors";
import type { Logger } from "@realtime-avatar/runtime/log";

const POLL_MS = 100;
/** How long a sync waits at most. */
const WAIT_MS = 1000;

export type WaitingWorkers = {
  /** Waits until the worker has work. False: it has none within a second, or a later sync of it waits in place of this one. */
  wait(workerId: string): Promise<boolean>;
};

/** `listWithWork`: those of the workers that have work. */
export const createWaitingWorkers = (
  listWithWork: (workerIds: string[]) => Promise<string[]>,
  log: Logger,
): WaitingWorkers => {
  const waiting = new Map<string, (hasWork: boolean) => void>();
  let isPolling = false;

  const poll = async (): Promise<void> => {
    isPolling = true;
    while (waiting.size > 0) {
      await Bun.sleep(POLL_MS);
      const workers = [...waiting.keys()];
      if (workers.length === 0) break;
      try {
        for (const worker of await listWithWork(workers)) waiting.get(worker)?.(true);
      } catch (error) {
        log.warn({ error: describeError(error) }, "failed to look for work of avatar workers");
      }
    }
    isPolling = false;
  };

  return {
    wait: (workerId) =>
      new Promise((resolve) => {
        const end = (hasWork: boolean): void => {
          clearTimeout(timer);
          if (waiting.get(workerId) === end) waiting.delete(workerId);
          resolve(hasWork);
        };
        const timer = setTimeout(() => end(false), WAIT_MS);
        waiting.get(workerId)?.(false);
        waiting.set(workerId, end);
        if (!isPolling) void poll();
      }),
  };
};
