/** Reads of usage sessions by their id. */
import type { UsageSession, UsageSessionWithNames } from "@realtime-avatar/domain/credits/schemas";
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import type { Db } from "../connection/pool.ts";
import { batchedRead } from "../query/batched-read.ts";
import { nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "../query/json-text.ts";
import { inputColumn } from "../query/statement.ts";
import { usageSessions } from "../schema/credits.ts";
import { apiKeyName, avatarName } from "../schema/names.ts";

/** The owner of sessions: one tenant, in one environment. */
export type Owner = Pick<UsageSession, "environment"> & { tenantId: TenantId };

const { tenantId } = usageSessions;

/** As in session_records.sql. `failed` with a key as closer: fail_call has ended a call whose room was not created. */
const IS_FAILED_START = sql`(${usageSessions.status} = 'failed' and ${usageSessions.reason} = 'failed')`;
const BY_SERVICE = sql`${usageSessions.closedBy} = 'sweep'`;
/** A session that was released but ended by its lease keeps the reason of the release. */
const END_REASON = sql`(case
  when ${usageSessions.endedAt} is null or ${usageSessions.closedBy} is null then null
  when ${BY_SERVICE} and ${usageSessions.reason} is not null and not ${usageSessions.mustEnd} then ${usageSessions.reason}
  when ${BY_SERVICE} and ${usageSessions.mustEnd} and ${usageSessions.videoId} is not null then 'released'
  when ${BY_SERVICE} and ${usageSessions.startedAt} is null then 'not_started'
  when ${BY_SERVICE} then 'lease_expired'
  when ${IS_FAILED_START} then 'failed'
  else 'released'
end)`;
const RELEASE_REASON = sql`(case
  when ${usageSessions.mustEnd} or not ${BY_SERVICE} and not ${IS_FAILED_START} then ${usageSessions.reason}
end)`;

/**
 * A session as the API shows it: the result of `presentSession` for session_records.sql, with names. A test compares
 * the two.
 */
export const SESSION = objectJson<UsageSessionWithNames>({
  sessionId: plainJson(usageSessions.id),
  environment: plainJson(usageSessions.environment),
  apiKeyId: plainJson(usageSessions.apiKeyId),
  avatarId: nullable(plainJson(usageSessions.avatarId)),
  avatarName: nullable(textJson(avatarName(tenantId, usageSessions.avatarId))),
  videoId: nullable(plainJson(usageSessions.videoId)),
  status: plainJson(usageSessions.status),
  startedAt: nullable(timeJson(usageSessions.startedAt)),
  endedAt: nullable(timeJson(usageSessions.endedAt)),
  activeSeconds: nullable(
    rawJson(sql`ceil(extract(epoch from ${usageSessions.endedAt} - ${usageSessions.startedAt}))::bigint`),
  ),
  billedCreditMicros: nullable(
    rawJson(sql`(case when ${usageSessions.endedAt} is not null then ${usageSessions.used} end)`),
  ),
  usedCreditMicros: rawJson(usageSessions.used),
  priceCreditMicrosPerSecond: rawJson(usageSessions.price),
  metadata: rawJson(usageSessions.metadata),
  createdAt: timeJson(usageSessions.createdAt),
  reservedCreditMicros: rawJson(usageSessions.reserved),
  expiresAt: timeJson(usageSessions.expiresAt),
  mustEnd: rawJson(
    sql`(${usageSessions.endedAt} is null and (${usageSessions.mustEnd} or ${usageSessions.used} = ${usageSessions.reserved}))`,
  ),
  reportedBy: nullable(plainJson(usageSessions.reportedBy)),
  closedBy: nullable(plainJson(usageSessions.closedBy)),
  endReason: nullable(textJson(END_REASON)),
  releaseReason: nullable(textJson(RELEASE_REASON)),
  apiKeyName: nullable(textJson(apiKeyName(tenantId, usageSessions.apiKeyId))),
  reportedByName: nullable(textJson(apiKeyName(tenantId, usageSessions.reportedBy))),
  closedByName: nullable(textJson(apiKeyName(tenantId, usageSessions.closedBy))),
});

type SessionLookUp = Owner & { id: SessionId };
/** A session in the form of the API, with its version. */
type FoundSession = UsageSessionWithNames & { version: number };

const READS = batchedRead<{ session: UsageSessionWithNames; version: number }, SessionLookUp, FoundSession>(
  "find_usage_session",
  ["tenantId", "environment", "id"],
  (inputs) => sql`
    select position::integer as "position", (${SESSION})::json as "session", ${usageSessions.version} as "version"
    from ${inputs}
    join ${usageSessions} on ${usageSessions.tenantId} = ${inputColumn("tenantId")} collate "C"
      and ${usageSessions.id} = ${inputColumn("id")} collate "C"
      and ${usageSessions.environment} = ${inputColumn("environment")}`,
  ({ session, version }) => ({ ...session, version }),
);

/** The session, in any status; null when the owner has no session with this id. One statement. */
export const findUsageSession = (
  db: Db,
  { tenantId, environment }: Owner,
  id: SessionId,
): Promise<FoundSession | null> => db.batch(READS, { tenantId, environment, id }, tenantId);
