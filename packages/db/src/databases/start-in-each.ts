/** Work that runs separately in each database. A database that fails or hangs does not delay another one. */
import type { Db } from "../connection/pool.ts";
import { combined, type Databases } from "./databases.ts";

type Worker<Stats extends object> = { stats?(): Stats; stop(hasCrashed?: boolean): Promise<void> };

/** Calls `start` for each database, and later for each new one. */
export const startInEach = <Stats extends object>(
  databases: Databases,
  start: (db: Db) => Worker<Stats>,
): Required<Worker<Stats>> => {
  const workers: Worker<Stats>[] = [];
  let isStopping = false;
  databases.each((db) => {
    if (!isStopping) workers.push(start(db));
  });
  return {
    stats: () => combined(workers.flatMap((worker) => worker.stats?.() ?? [])),
    stop: async (hasCrashed) => {
      isStopping = true;
      await Promise.all(workers.map((worker) => worker.stop(hasCrashed)));
    },
  };
};
