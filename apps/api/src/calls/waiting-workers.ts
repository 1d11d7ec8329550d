/**
 * The syncs of avatar workers that wait for work. One statement finds all workers with work. It runs every 100 ms, and
 * at once after a write of this process that makes work for a worker. So a worker gets a call at once, and an idle
 * worker costs one more statement a second.
 */
import { describeError } from "@realtime-avatar/db/connection/errors";
import type { Logger } from "@realtime-avatar/runtime/log";

/**
 * `poll`: time between two statements. `rest`: minimum time between two statements that follow writes, so that many
 * writes share a statement. `wait`: maximum time of a sync.
 */
export type WaitTimes = { poll: number; rest: number; wait: number };
const TIMES_MS: WaitTimes = { poll: 100, rest: 5, wait: 1000 };

export type WaitingWorkers = {
  /**
   * Waits until the worker has work. Returns false after a second without work, or when a later sync of the worker
   * waits instead.
   */
  wait(workerId: string): Promise<boolean>;
  /** Ends the wait of a worker that has work, if it waits here. */
  wake(workerId: string): void;
  /** Runs the statement now, after a write of this process. */
  look(): void;
};

/** `listWithWork`: returns those of the workers that have work. */
export const createWaitingWorkers = (
  listWithWork: (workerIds: string[]) => Promise<string[]>,
  log: Logger,
  times: WaitTimes = TIMES_MS,
): WaitingWorkers => {
  const waiting = new Map<string, (hasWork: boolean) => void>();
  let isPolling = false;
  /** Whether a write came since the last statement began. */
  let isAsked = false;
  let endPause = (): void => {};

  /** Waits until the next statement is due. */
  const pause = async (): Promise<void> => {
    await Bun.sleep(times.rest);
    if (isAsked) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, times.poll - times.rest);
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  };

  const poll = async (): Promise<void> => {
    isPolling = true;
    while (waiting.size > 0) {
      await pause();
      isAsked = false;
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
        const timer = setTimeout(() => end(false), times.wait);
        waiting.get(workerId)?.(false);
        waiting.set(workerId, end);
        if (!isPolling) void poll();
      }),
    wake: (workerId) => waiting.get(workerId)?.(true),
    look: () => {
      isAsked = true;
      endPause();
    },
  };
};
