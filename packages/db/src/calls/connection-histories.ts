/** The connection histories of calls: see the domain's calls/kept/connection-history.ts. */
import type { StoredObservation } from "@realtime-avatar/domain/calls/kept/connection-history";
import type { Environment } from "@realtime-avatar/domain/environment";
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import { addObservations as callAdd, sweepConnectionHistories as callSweep } from "../../generated/functions.ts";
import type { Runner } from "../connection/batch.ts";
import { statement } from "../query/statement.ts";
import { connectionHistories } from "../schema/calls.ts";
import { usageSessions } from "../schema/credits.ts";

/**
 * Adds observations of a page of a call. False: the call has no history, or ended more than a minute ago. One
 * statement.
 */
export const addObservations = async (
  db: Runner,
  { tenantId, sessionId }: { tenantId: TenantId; sessionId: SessionId },
  observations: readonly StoredObservation[],
): Promise<boolean> => {
  const [row] = await callAdd(db, { tenantId, sessionId, observations: JSON.stringify(observations) });
  return row?.result === true;
};

const select = statement<{ observations: StoredObservation[] }>(
  "find_connection_history",
  sql`
    select ${connectionHistories.observations}::json as "observations"
    from ${usageSessions}
    join ${connectionHistories} on ${connectionHistories.tenantId} = ${usageSessions.tenantId}
      and ${connectionHistories.sessionId} = ${usageSessions.id}
      and ${connectionHistories.updatedAt} > now() - make_interval(days => ${sql.placeholder("retentionDays")}::integer)
    where ${usageSessions.tenantId} = ${sql.placeholder("tenantId")} and ${usageSessions.id} = ${sql.placeholder("id")}
      and ${usageSessions.environment} = ${sql.placeholder("environment")}`,
);

/** The observations of a session of the owner; null when the owner has no such session with a history. One statement. */
export const findConnectionHistory = async (
  db: Runner,
  { tenantId, environment }: { tenantId: TenantId; environment: Environment },
  id: SessionId,
  retentionDays: number,
): Promise<StoredObservation[] | null> =>
  (await select(db, { tenantId, environment, id, retentionDays }))[0]?.observations ?? null;

/** Deletes up to `limit` histories that were last changed before `before`, and returns their number. One statement. */
export const sweepConnectionHistories = async (db: Runner, before: Date, limit: number): Promise<number> =>
  (await callSweep(db, { before, limit }))[0]?.result ?? 0;
