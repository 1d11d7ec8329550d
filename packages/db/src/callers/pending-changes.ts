/**
 * Pending changes of keys and people. PostgreSQL grants new `for share` locks while a change waits for older ones. So a
 * key whose writes, or those of its descendants, overlap without a pause could never be changed, rotated or revoked.
 * The sessions of such a person could never be ended. Therefore a change that waits inserts a row here. No write locks
 * this row. While the row exists, look-ups of the changed key or person are delayed. These rows affect only times,
 * never correctness.
 */
import type { ApiKeyId, TenantId, UserId, UserSessionId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import type { Db } from "../connection/pool.ts";
import { createSweep, statement } from "../query/statement.ts";
import { apiKeys, pendingChanges } from "../schema/api-keys.ts";
import { userSessions } from "../schema/people.ts";

/** A change is announced after this time of waiting, and then repeatedly after each such time. */
const ANNOUNCE_MS = 200;
/** The maximum delay of a look-up. `HAS_PENDING_CHANGE` ignores older rows. */
const MAX_DELAY_MS = 1000;
/** The pause between two repetitions of a delayed look-up. */
const REPEAT_MS = 20;
/** The time limit for deleting the row of a change. It is deleted even when the request has been aborted. */
const WITHDRAW_MS = 5000;

/** Whether a change of the key of a row of `api_keys`, or of one of its ancestors, is pending. */
export const HAS_PENDING_CHANGE = sql`exists (
  select from ${pendingChanges}
  where ${pendingChanges.tenantId} = ${apiKeys.tenantId}
    and ${pendingChanges.subjectId} = any((${apiKeys.lineage} || ${apiKeys.id}::text) collate "C")
    and ${pendingChanges.announcedAt} > now() - interval '1 second'
)`;

/**
 * Whether a change of the session of a row of `user_sessions`, of its user, or of the people of its tenant is pending.
 * Reads by the primary key.
 */
export const HAS_PENDING_CHANGE_OF_PERSON = sql`exists (
  select from ${pendingChanges}
  where ${pendingChanges.tenantId} = ${userSessions.tenantId}
    and ${pendingChanges.subjectId} = any(
      array[${userSessions.id}, ${userSessions.userId}, ${userSessions.tenantId}] collate "C"
    )
    and ${pendingChanges.announcedAt} > now() - interval '1 second'
)`;

/** Repeats a look-up while a change of its result is pending. Returns the last result. */
export const delayWhilePending = async <Found>(
  lookUp: () => Promise<Found>,
  hasPendingChange: (found: Found) => boolean,
): Promise<Found> => {
  let found = await lookUp();
  for (let delayed = 0; hasPendingChange(found) && delayed < MAX_DELAY_MS; delayed += REPEAT_MS) {
    await new Promise((resolve) => setTimeout(resolve, REPEAT_MS));
    found = await lookUp();
  }
  return found;
};

const announce = statement(
  "announce_pending_change",
  sql`
    insert into ${pendingChanges} (tenant_id, subject_id, announced_at)
    values (${sql.placeholder("tenantId")}, ${sql.placeholder("id")}, date_trunc('milliseconds', now()))
    on conflict (tenant_id, subject_id) do update set announced_at = excluded.announced_at`,
);

const withdraw = statement(
  "withdraw_pending_change",
  sql`
    delete from ${pendingChanges}
    where ${pendingChanges.tenantId} = ${sql.placeholder("tenantId")}
      and ${pendingChanges.subjectId} = ${sql.placeholder("id")}`,
);

/** Deletes the rows of processes that ended before they could delete them. Returns the number of rows. */
export const sweepPendingChanges = createSweep(
  "sweep_pending_changes",
  pendingChanges,
  sql`${pendingChanges.announcedAt} <= now() - interval '1 minute'`,
  pendingChanges.announcedAt,
);

/** The subject of a change, for whose writes it may wait: a key, a user, a session, or the people of a tenant. */
type Pending = { tenantId: TenantId; id: ApiKeyId | UserId | UserSessionId | TenantId };

/** Runs `change`, a change of the target, and announces it as pending if it has to wait. */
export const announceWhileWaiting = async <Result>(
  db: Db,
  { tenantId, id }: Pending,
  change: () => Promise<Result>,
): Promise<Result> => {
  let announced: Promise<unknown> | undefined;
  let isAnnouncing = false;
  const timer = setInterval(() => {
    // Only one announcement at a time. A second one could arrive after the withdrawal.
    if (isAnnouncing) return;
    isAnnouncing = true;
    // The next tick repeats a failed announcement, so a failure costs only time.
    announced = announce(db, { tenantId, id })
      .catch(() => {})
      .finally(() => {
        isAnnouncing = false;
      });
  }, ANNOUNCE_MS);
  try {
    return await change();
  } finally {
    clearInterval(timer);
    // Not awaited, because the request may have no time left. A row that is not deleted stops counting after a second.
    void announced?.then(() => withdraw(db.within(WITHDRAW_MS), { tenantId, id })).catch(() => {});
  }
};
