/** The creator of a key, from the audit trail. */
import type { ApiKeyWithCreator } from "@realtime-avatar/domain/api-keys/schemas";
import type { Environment } from "@realtime-avatar/domain/environment";
import type { ApiKeyId, TenantId } from "@realtime-avatar/domain/id";
import { type Column, type SQL, sql } from "drizzle-orm";
import type { Db } from "../connection/pool.ts";
import { batchedRead } from "../query/batched-read.ts";
import { inputColumn } from "../query/statement.ts";
import { auditEvents } from "../schema/audit.ts";
import { objectName } from "../schema/names.ts";

type Value = Column | SQL;

/**
 * The actor that created a key, as `creator.id`; NULL for the operator. The event of the creation is the first or one
 * of the first of the key, because the clocks of replicas differ. Written as comparisons of rows, so that the index of
 * targets is read: see `newestRows`. `offset 0` keeps the server from reading it for each use of the id.
 */
export const selectCreator = (tenantId: Value, id: Value): SQL => {
  const { targetId, tenantId: ofTenant, id: eventId } = auditEvents;
  return sql`cross join lateral (
    select (
      select actor_id from (
        select ${auditEvents.actorId}, ${auditEvents.action} from ${auditEvents}
        where (${targetId}, ${ofTenant}) >= (${id}, ${tenantId}) and (${targetId}, ${ofTenant}, ${eventId}) < (${id}, ${tenantId}, 'aud~')
        order by ${targetId}, ${ofTenant}, ${eventId} limit 8
      ) first_events
      where action = 'api_key.created' limit 1
    ) as id
    offset 0
  ) creator`;
};

export type Creator = Pick<ApiKeyWithCreator, "createdBy" | "createdByName">;

const READS = batchedRead<Creator, { tenantId: TenantId; id: ApiKeyId; reader: Environment }, Creator>(
  "find_api_key_creator",
  ["tenantId", "id", "reader"],
  (inputs) => sql`
    select position::integer as "position", creator.id as "createdBy",
      ${objectName(inputColumn("tenantId"), sql`creator.id`, inputColumn("reader"))} as "createdByName"
    from ${inputs} ${selectCreator(inputColumn("tenantId"), inputColumn("id"))}`,
  (creator) => creator,
);

/** The creator of a key, for a reader in the environment `reader`. One statement, shared by concurrent reads. */
export const findCreator = async (
  db: Db,
  { tenantId, id }: { tenantId: TenantId; id: ApiKeyId },
  reader: Environment,
): Promise<Creator> =>
  (await db.batch(READS, { tenantId, id, reader }, tenantId)) ?? { createdBy: null, createdByName: null };
