/**
 * Keys that have ended. A revocation writes the row of one key, and an expiry writes no row. So the row of a key does
 * not show that an ancestor has ended. The quota of active keys counts the keys that are not marked as ended. Ended
 * keys are marked when a tenant reaches its quota.
 */
import type { TenantId } from "@realtime-avatar/domain/id";
import { type SQL, sql } from "drizzle-orm";
import type { BatchKind } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { statement } from "../query/statement.ts";
import { apiKeys } from "../schema/api-keys.ts";

/** The maximum number of keys that one statement marks as ended. */
const MARKED = sql.raw("20000");
const hasEnded = (alias: SQL): SQL => sql`(${alias}.revoked_at is not null or ${alias}.expires_at <= now())`;

const markEnded = statement<{ tenantId: TenantId }>(
  "mark_ended_keys",
  sql`
  with ended as (
    select keys.tenant_id, keys.id from ${apiKeys} keys
    where keys.tenant_id = any(${sql.placeholder("tenantIds")}::text[] collate "C") and keys.ended_at is null and (
      ${hasEnded(sql`keys`)} or exists (
        select from ${apiKeys} ancestors
        where ancestors.tenant_id = keys.tenant_id and ancestors.id = any(keys.lineage collate "C")
          and ${hasEnded(sql`ancestors`)}
      )
    )
    order by keys.tenant_id, keys.id limit ${MARKED}
    for no key update of keys skip locked
  ),
  marked as (
    update ${apiKeys} set ended_at = date_trunc('milliseconds', now()) from ended
    where ${apiKeys.tenantId} = ended.tenant_id and ${apiKeys.id} = ended.id
    returning ${apiKeys.tenantId}
  )
  select distinct tenant_id as "tenantId" from marked`,
);

/**
 * One statement at a time in each process, for all tenants that wait. A statement reads at most as many keys as a
 * tenant may have.
 */
const MARKS: BatchKind<TenantId, boolean> = {
  name: "mark_ended_keys",
  inFlight: 1,
  run: async (db, tenantIds) => {
    const rows = await markEnded(db, { tenantIds: [...new Set(tenantIds)] });
    return tenantIds.map((id) => rows.some(({ tenantId }) => tenantId === id));
  },
};

/**
 * Marks keys of the tenant that are revoked or expired, or have such an ancestor. Returns whether any key was marked.
 */
export const markEndedKeys = (db: Db, tenantId: TenantId): Promise<boolean> => db.batch(MARKS, tenantId, tenantId);
