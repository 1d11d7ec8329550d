/** Waits for due work. While queues of a database are idle, one statement asks for all of them, again and again. */
import type { Db } from "@realtime-avatar/db/connection/pool";
import { isOneOfSeveral } from "@realtime-avatar/db/connection/which-database";
import { findDueWork, type Queue } from "@realtime-avatar/db/due-work/due-work";

/**
 * The intervals between two statements. New work waits at most `most`. After due work, the interval is `least`, and is
 * doubled while nothing is due.
 */
type Intervals = { least: number; most: number };
const INTERVALS_MS: Intervals = { least: 200, most: 200 };
/** The intervals in each of several databases. They are longer, because there may be many. */
const INTERVALS_OF_SEVERAL_MS: Intervals = { least: 500, most: 2000 };

/** Resolves when the queue has due work, cannot be asked (then the next claim reports the error), or `signal` is aborted. */
export type UntilDue = (signal: AbortSignal) => Promise<void>;

/** Returns a function that waits for due work of a queue of the database. Each queue has one waiter at a time. */
export const createUntilDue = (
  db: Db,
  { least, most }: Intervals = isOneOfSeveral(db) ? INTERVALS_OF_SEVERAL_MS : INTERVALS_MS,
): ((queue: Queue) => UntilDue) => {
  const waiting = new Map<Queue, () => void>();
  let isAsking = false;
  let intervalMs = least;
  const ask = async (): Promise<void> => {
    isAsking = true;
    while (waiting.size > 0) {
      // Varied, so that the statements of several workers do not coincide.
      await Bun.sleep(intervalMs * (0.75 + Math.random() / 4));
      if (waiting.size === 0) break;
      const due = await findDueWork(db).catch(() => null);
      const ended = [...waiting].filter(([queue]) => due === null || due[queue]);
      intervalMs = ended.length > 0 ? least : Math.min(2 * intervalMs, most);
      for (const [, end] of ended) end();
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
