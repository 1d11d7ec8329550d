/** The turns of the databases whose jobs a worker claims. A database without a job is skipped during a pause. */
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Databases } from "@realtime-avatar/db/databases/databases";

/** The database whose turn it is. Without one, the time until the next turn. */
type Turn = { db: Db } | { db: null; pauseMs: number };

/** The longest pause. A new database gets its first turn after at most this time. */
export const LONGEST_PAUSE_MS = 1000;

export const createTurns = (databases: Pick<Databases, "all">) => {
  const dueAt = new Map<Db, number>();
  const awaited = new Set<Db>();
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
    /** Skips the turns of a database until `due` has resolved. `due` runs at most once at a time for each database. */
    skipUntil: async (db: Db, due: () => Promise<void>): Promise<void> => {
      dueAt.set(db, Number.POSITIVE_INFINITY);
      if (awaited.has(db)) return;
      awaited.add(db);
      await due();
      awaited.delete(db);
      dueAt.set(db, performance.now());
    },
  };
};
