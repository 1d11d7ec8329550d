/**
 * How a change of a key gets past the writes of that key. PostgreSQL lets new `for share` locks in past a change that
 * waits for older ones: a key that writes without a pause, by itself or by its descendants, would never be changed,
 * rotated or revoked while its commits overlap. A change that waits therefore says so, in a row that nobody locks, and
 * whoever looks up the key or a descendant of it gives way. Nothing depends on it but time.
 */
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-key";
import { sql } from "drizzle-orm";
import type { Db } from "../connection/pool.ts";
import { apiKeyPendingChanges, apiKeys } from "../schema.ts";
import { statement, sweepOf } from "./statement.ts";

/** A change that has waited for so long announces itself, and again as often while it waits. */
const ANNOUNCE_MS = 200;
/** A look-up gives way for so long at most, and asks again so often. An announcement holds as long. */
const GIVE_WAY_MS = 1000;
const ASK_AGAIN_MS = 20;

/** Whether a change of the key of a row of `api_keys`, or of one of its ancestors, waits. */
export const GIVES_WAY = sql`exists (
  select from ${apiKeyPendingChanges}
  where ${apiKeyPendingChanges.tenantId} = ${apiKeys.tenantId}
    and ${apiKeyPendingChanges.apiKeyId} = any((${apiKeys.lineage} || ${apiKeys.id}::text) collate "C")
    and ${apiKeyPendingChanges.announcedAt} > now() - interval '1 second'
)`;

/** Looks up again and again while `givesWay` says so of what was found. */
export const givingWay = async <Found>(
  lookUp: () => Promise<Found>,
  givesWay: (found: Found) => boolean,
): Promise<Found> => {
  let found = await lookUp();
  for (let waited = 0; givesWay(found) && waited < GIVE_WAY_MS; waited += ASK_AGAIN_MS) {
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    found = await lookUp();
  }
  return found;
};

const announce = statement(sql`
  insert into ${apiKeyPendingChanges} (tenant_id, api_key_id, announced_at)
  values (${sql.placeholder("tenantId")}, ${sql.placeholder("id")}, now())
  on conflict (tenant_id, api_key_id) do update set announced_at = excluded.announced_at`);

const withdraw = statement(sql`
  delete from ${apiKeyPendingChanges}
  where ${apiKeyPendingChanges.tenantId} = ${sql.placeholder("tenantId")}
    and ${apiKeyPendingChanges.apiKeyId} = ${sql.placeholder("id")}`);

/** Deletes announcements that a process has left behind; returns their number. */
export const sweepPendingChanges = sweepOf(
  apiKeyPendingChanges,
  sql`${apiKeyPendingChanges.announcedAt} <= now() - interval '1 minute'`,
  apiKeyPendingChanges.announcedAt,
);

/** How long the end of an announcement may take. It is sent even when the request has been aborted meanwhile. */
const WITHDRAW_MS = 1000;

/** Runs a change of the key `target` that may have to wait for the writes of the key and its descendants. */
export const withRightOfWay = async <Result>(
  db: Db,
  { tenantId, id }: ApiKeyRecord,
  change: () => Promise<Result>,
): Promise<Result> => {
  let announced: Promise<unknown> | null = null;
  const timer = setInterval(() => {
    // One that fails is made again; it costs time alone.
    announced = announce(db, { tenantId, id }).catch(() => {});
  }, ANNOUNCE_MS);
  try {
    return await change();
  } finally {
    clearInterval(timer);
    // One that stays behind ends by itself.
    if (announced)
      await (announced as Promise<unknown>)
        .then(() => withdraw(db.within(WITHDRAW_MS), { tenantId, id }))
        .catch(() => {});
  }
};
