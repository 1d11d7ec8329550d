/** When keys were last used. */
import type { ApiKeyId, TenantId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import type { Db } from "../connection/pool.ts";
import { statement } from "../query/statement.ts";
import { apiKeyUsage } from "../schema/api-keys.ts";

/** A key, and the minute in which it was used. */
export type ApiKeyUse = { tenantId: TenantId; id: ApiKeyId; usedAt: Date };

const upsert = statement<object>(
  "record_api_key_uses",
  sql`
    insert into ${apiKeyUsage} (tenant_id, api_key_id, last_used_at)
    select tenant_id, api_key_id, used_at::timestamp with time zone
    from unnest(
      ${sql.placeholder("tenantIds")}::text[], ${sql.placeholder("apiKeyIds")}::text[], ${sql.placeholder("usedAts")}::text[]
    ) uses (tenant_id, api_key_id, used_at)
    order by tenant_id collate "C", api_key_id collate "C"
    on conflict (tenant_id, api_key_id) do update set last_used_at = excluded.last_used_at
      where ${apiKeyUsage.lastUsedAt} < excluded.last_used_at`,
);

/**
 * Records when keys were used. A key occurs at most once in `uses`. Rows are written in the order of their primary key,
 * so that two replicas do not deadlock. The later of two times is stored. One statement.
 */
export const recordUses = async (db: Db, uses: readonly ApiKeyUse[]): Promise<void> => {
  await upsert(db, {
    tenantIds: uses.map(({ tenantId }) => tenantId),
    apiKeyIds: uses.map(({ id }) => id),
    usedAts: uses.map(({ usedAt }) => usedAt.toISOString()),
  });
};
