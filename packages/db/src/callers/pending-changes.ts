/**
 * Pending changes of keys and people. PostgreSQL grants new `for share` locks while a change waits for older ones. So a
 * key that writes without a pause, itself or by its descendants, could never be changed, rotated or revoked while its
 * commits overlap. The sessions of such a person could never be ended. Therefore a change that waits inserts a row
 * here. No write locks this row. Look-ups of the key or person that changes are delayed while the row exists. Only time
 * depends on these rows, never correctness.
 */
import type { ApiKeyId, TenantId, UserId, UserSessionId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import type { Db } from "../connection/pool.ts";
import { createSweep, statement } from "../query/statement.ts";
import { apiKeys, pendingChanges } from "../schema/api-keys.ts";
import { userSessions } from "../schema/people.ts";

/** A change that has waited this long is announced, and again each time this long has passed. */
const ANNOUNCE_MS = 200;
/** A look-up is delayed by at most this much. A row of `HAS_PENDING_CHANGE` counts for as long. */
const MAX_DELAY_MS = 1000;
/** How often a delayed look-up is repeated. */
const REPEAT_MS = 20;
/** The time limit for deleting the row of a change. It is deleted even when the request has been aborted. */
const WITHDRAW_MS = 5000;

/** Whether a change is pending of the key of a row of `api_keys`, or of one of its ancestors. */
export const HAS_PENDING_CHANGE = sql`exists (
  select from ${pendingChanges}
  where ${pendingChanges.tenantId} = ${apiKeys.tenantId}
    and ${pendingChanges.subjectId} = any((${apiKeys.lineage} || ${apiKeys.id}::text) collate "C")
    and ${pendingChanges.announcedAt} > now() - interval '1 second'
)`;

/**
 * Whether a change is pending of the session of a row of `user_sessions`, of its user, or of the people of its tenant. By the
 * primary key.
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

/** Deletes the rows of processes that ended before they could. Returns the number of rows. */
export const sweepPendingChanges = createSweep(
  "sweep_pending_changes",
  pendingChanges,
  sql`${pendingChanges.announcedAt} <= now() - interval '1 minute'`,
  pendingChanges.announcedAt,
);

/** The writes that a change may wait for: those of a key, a user, a session, or the people of a tenant. */
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
    // The next tick repeats a failed announcement. A failure costs only time.
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
