/** Waits for due work. While queues of a database are idle, one statement at an interval asks for all of them. */
import type { Db } from "@realtime-avatar/db/connection/pool";
import { isOneOfSeveral } from "@realtime-avatar/db/connection/which-database";
import { findDueWork, type Queue } from "@realtime-avatar/db/due-work/due-work";

/** The longest interval between two statements. New work waits at most this long. */
const INTERVAL_MS = 200;
/** The interval in each of several databases. It is longer, because there may be many. */
const INTERVAL_OF_SEVERAL_MS = 1000;

/** Resolves when the queue has due work, cannot be asked (then the next claim reports the error), or `signal` is aborted. */
export type UntilDue = (signal: AbortSignal) => Promise<void>;

/** Returns a function that waits for due work of a queue of the database. Each queue has one waiter at a time. */
export const createUntilDue = (
  db: Db,
  intervalMs = isOneOfSeveral(db) ? INTERVAL_OF_SEVERAL_MS : INTERVAL_MS,
): ((queue: Queue) => UntilDue) => {
  const waiting = new Map<Queue, () => void>();
  let isAsking = false;
  const ask = async (): Promise<void> => {
    isAsking = true;
    while (waiting.size > 0) {
      // Varied, so that the statements of several workers do not coincide.
      await Bun.sleep(intervalMs * (0.75 + Math.random() / 4));
      if (waiting.size === 0) break;
      const due = await findDueWork(db).catch(() => null);
      for (const [queue, end] of waiting) if (due === null || due[queue]) end();
    }
    isAsking = false;
  };
  return (queue) => (signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const end = (): void => {
        waiting.delete(queue);
        signal.removeEventListener("abort", end);
        resolve();
      };
      signal.addEventListener("abort", end);
      waiting.set(queue, end);
      if (!isAsking) void ask();
    });
};
