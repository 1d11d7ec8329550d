/** The turns of the databases whose jobs a worker claims: each in turn, and one that was asked in vain after a pause. */
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Databases } from "@realtime-avatar/db/databases/databases";

/** The database whose turn it is; or none, and in how long the next one has its turn. */
type Turn = { db: Db } | { db: null; pauseMs: number };

/** The longest pause: a database that is new is asked this soon. */
const LONGEST_PAUSE_MS = 1000;

export const createTurns = (databases: Pick<Databases, "all">) => {
  const dueAt = new Map<Db, number>();
  let last = -1;
  return {
    next: (): Turn => {
      const all = databases.all();
      const now = performance.now();
      let earliest = now + LONGEST_PAUSE_MS;
      for (let step = 1; step <= all.length; step++) {
        const index = (last + step) % all.length;
        const db = all[index] as Db;
        const due = dueAt.get(db) ?? now;
        if (due <= now) {
          last = index;
          return { db };
        }
        earliest = Math.min(earliest, due);
      }
      return { db: null, pauseMs: earliest - now };
    },
    pause: (db: Db, milliseconds: number): void => void dueAt.set(db, performance.now() + milliseconds),
  };
};
