/** Notes when keys are used, off the way of the requests: in memory first, and in the database soon after. */

import { describeError } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type ApiKeyUse, recordUses } from "@realtime-avatar/db/statements/api-key-usage";
import type { Caller } from "@realtime-avatar/db/statements/callers";
import type { Logger } from "@realtime-avatar/runtime/log";

const MINUTE = 60_000;
/** So many keys go in one statement. */
const BATCH = 1000;
/** So many uses wait at most, while the database does not take them. */
const MAX_WAITING = 100_000;

export type Uses = {
  /** Notes that a key is used now. At most one use a minute is kept of each. */
  note(caller: Pick<Caller, "tenantId" | "id" | "judgedAt">): void;
  /** Writes what has been noted. What the database does not take is kept for the next time. */
  flush(): Promise<void>;
};

export const createUses = (db: Db, log: Logger): Uses => {
  /** The present minute, as the database's clock has it, and of the keys that were used since, in which minute. */
  let minute = 0;
  let noted = new Map<string, number>();
  const waiting = new Map<string, ApiKeyUse>();
  let flushing: Promise<void> | null = null;

  const writeAll = async (): Promise<void> => {
    while (waiting.size > 0) {
      const batch = [...waiting.values()].slice(0, BATCH);
      await recordUses(db, batch);
      // One that was noted again meanwhile, in a later minute, still waits.
      for (const use of batch) if (waiting.get(use.apiKeyId) === use) waiting.delete(use.apiKeyId);
    }
  };

  return {
    note: ({ tenantId, id, judgedAt }) => {
      const present = Math.floor(judgedAt.getTime() / MINUTE) * MINUTE;
      if (present > minute) {
        minute = present;
        noted = new Map();
      }
      // Look-ups do not end in the order of their times: a minute that is over may come after one that is not.
      if ((noted.get(id) ?? 0) >= present || waiting.size >= MAX_WAITING) return;
      noted.set(id, present);
      waiting.set(id, { tenantId, apiKeyId: id, usedAt: new Date(present) });
    },
    flush: () => {
      flushing ??= writeAll()
        .catch((error: unknown) => log.warn({ error: describeError(error) }, "the last use of keys was not written"))
        .finally(() => {
          flushing = null;
        });
      return flushing;
    },
  };
};
