/** Records the last use of keys without delaying requests: first in memory, then in the database at intervals. */

import { describeError } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type ApiKeyUse, recordUses } from "@realtime-avatar/db/statements/api-key-usage";
import type { Caller } from "@realtime-avatar/db/statements/callers";
import type { Logger } from "@realtime-avatar/runtime/log";

const MINUTE = 60_000;
/** Maximum number of keys in one statement. */
const MAX_BATCH = 1000;
/** Maximum number of uses that wait while the database is unavailable; further uses are dropped. */
const MAX_WAITING = 100_000;

export type Uses = {
  /** Records a use of a key, at most one per key and minute. */
  note(caller: Pick<Caller, "tenantId" | "id" | "judgedAt">): void;
  /** Writes the recorded uses. Uses that could not be written remain for the next call. */
  flush(): Promise<void>;
};

export const createUses = (db: Db, log: Logger): Uses => {
  /** The current minute by the database's clock, and the last recorded minute of each key used since it began. */
  let minute = 0;
  let recorded = new Map<string, number>();
  const waiting = new Map<string, ApiKeyUse>();
  let flushing: Promise<void> | null = null;

  const writeAll = async (): Promise<void> => {
    while (waiting.size > 0) {
      const batch = [...waiting.values()].slice(0, MAX_BATCH);
      await recordUses(db, batch);
      // A key that was used again meanwhile, in a later minute, still waits.
      for (const use of batch) if (waiting.get(use.apiKeyId) === use) waiting.delete(use.apiKeyId);
    }
  };

  return {
    note: ({ tenantId, id, judgedAt }) => {
      const usedAt = Math.floor(judgedAt.getTime() / MINUTE) * MINUTE;
      if (usedAt > minute) {
        minute = usedAt;
        recorded = new Map();
      }
      // Look-ups can complete out of order, so `usedAt` may be in an earlier minute.
      if ((recorded.get(id) ?? 0) >= usedAt || waiting.size >= MAX_WAITING) return;
      recorded.set(id, usedAt);
      waiting.set(id, { tenantId, apiKeyId: id, usedAt: new Date(usedAt) });
    },
    flush: () => {
      flushing ??= writeAll()
        .catch((error: unknown) => log.warn({ error: describeError(error) }, "failed to write the last use of keys"))
        .finally(() => {
          flushing = null;
        });
      return flushing;
    },
  };
};
