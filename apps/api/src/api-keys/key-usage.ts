/** Records the last use of keys, users and sessions without delaying requests: first in memory, then in the database at intervals. */

import { describeError } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Databases } from "@realtime-avatar/db/databases/databases";
import type { TenantId } from "@realtime-avatar/domain/id";
import type { Logger } from "@realtime-avatar/runtime/log";

const MINUTE = 60_000;
/** Maximum number of keys in one statement. */
const MAX_BATCH = 1000;
/** Maximum number of uses that wait while the database is unavailable; further uses are dropped. */
const MAX_WAITING = 100_000;

/** A used id, and the minute of its use. */
export type Use<Id extends string> = { tenantId: TenantId; id: Id; usedAt: Date };

export type Uses<Id extends string> = {
  /** Records a use, at most one per id and minute. */
  note(used: { tenantId: TenantId; id: Id; checkedAt: Date }): void;
  /** Writes the recorded uses. Uses that could not be written remain for the next call. */
  flush(): Promise<void>;
};

/** `record` writes uses to the database. */
export const createUses = <Id extends string>(
  databases: Databases,
  log: Logger,
  record: (db: Db, uses: readonly Use<Id>[]) => Promise<void>,
): Uses<Id> => {
  /**
   * The current minute by the database's clock, and the keys that were used since it began, with their last recorded
   * minute.
   */
  let minute = 0;
  let recorded = new Map<string, number>();
  const waiting = new Map<string, Use<Id>>();
  let flushing: Promise<void> | null = null;

  const writeTo = async (db: Db, uses: readonly Use<Id>[]): Promise<void> => {
    for (let start = 0; start < uses.length; start += MAX_BATCH) {
      const batch = uses.slice(start, start + MAX_BATCH);
      await record(db, batch);
      // A use in a later minute that was recorded during the write waits for the next write.
      for (const use of batch) if (waiting.get(use.id) === use) waiting.delete(use.id);
    }
  };
  const writeAll = async (): Promise<void> => {
    const byDatabase = Map.groupBy(waiting.values(), ({ tenantId }) => databases.ofTenant(tenantId));
    const written = await Promise.allSettled([...byDatabase].map(([db, uses]) => writeTo(db, uses)));
    for (const one of written) if (one.status === "rejected") throw one.reason;
  };

  return {
    note: ({ tenantId, id, checkedAt }) => {
      const usedAt = Math.floor(checkedAt.getTime() / MINUTE) * MINUTE;
      if (usedAt > minute) {
        minute = usedAt;
        recorded = new Map();
      }
      // Look-ups can complete out of order, so `usedAt` may be in an earlier minute.
      if ((recorded.get(id) ?? 0) >= usedAt || waiting.size >= MAX_WAITING) return;
      recorded.set(id, usedAt);
      waiting.set(id, { tenantId, id, usedAt: new Date(usedAt) });
    },
    flush: () => {
      flushing ??= writeAll()
        .catch((error: unknown) => log.warn({ error: describeError(error) }, "failed to write the last uses"))
        .finally(() => {
          flushing = null;
        });
      return flushing;
    },
  };
};
