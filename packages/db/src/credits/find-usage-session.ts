/** Reads of usage sessions by their id. */
import type { SessionRecord } from "@realtime-avatar/domain/credits/session";
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import { avatars } from "../avatars/tables.ts";
import type { BatchKind } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { batchStatement, columnsOf, inputColumn } from "../query/statement.ts";
import { usageSessions } from "./tables.ts";
import { type SessionRow, toSession } from "./usage-sessions.ts";

/** The owner of sessions: one tenant, in one environment. */
export type Owner = Pick<SessionRecord, "environment"> & { tenantId: TenantId };

/** The name of the avatar of a row of `usage_sessions`. */
export const AVATAR_NAME = sql`(
  select ${avatars.displayName} from ${avatars}
  where ${avatars.tenantId} = ${usageSessions.tenantId} and ${avatars.id} = ${usageSessions.avatarId}
)`;

type SessionLookUp = Owner & { id: SessionId };
const { id, environment, apiKeyId, avatarId, status, reserved, used, price, metadata, version } = usageSessions;
const { createdAt, startedAt, endedAt, expiresAt, mustEnd, reportedBy, closedBy } = usageSessions;
const RECORD = { id, environment, apiKeyId, avatarId, status, reserved, used, price, metadata, version };
const LIFE = { createdAt, startedAt, endedAt, expiresAt, mustEnd, reportedBy, closedBy };
const selectSessions = batchStatement<SessionRow, SessionLookUp>(
  "find_usage_session",
  ["tenantId", "environment", "id"],
  (inputs) => sql`
    select position::integer as "position", ${columnsOf({ ...RECORD, ...LIFE })}, ${AVATAR_NAME} as "avatarName"
    from ${inputs}
    join ${usageSessions} on ${usageSessions.tenantId} = ${inputColumn("tenantId")} collate "C"
      and ${usageSessions.id} = ${inputColumn("id")} collate "C"
      and ${usageSessions.environment} = ${inputColumn("environment")}`,
);

/** Concurrent reads by id are batched. */
const READS: BatchKind<SessionLookUp, SessionRecord | null> = {
  name: "find_usage_session",
  inFlight: 2,
  run: async (db, lookUps) => {
    const found = lookUps.map((): SessionRecord | null => null);
    for (const { position, ...row } of await selectSessions(db, lookUps)) found[position - 1] = toSession(row);
    return found;
  },
};

/** The session, in any status; null when the owner has none of this id. One statement. */
export const findUsageSession = (
  db: Db,
  { tenantId, environment }: Owner,
  id: SessionId,
): Promise<SessionRecord | null> => db.batch(READS, { tenantId, environment, id }, tenantId);
