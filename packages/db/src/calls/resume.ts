/** Resuming a call, in its next room. */
import type { CallToResume } from "@realtime-avatar/domain/calls/resume";
import { MAX_SESSION_SECONDS } from "@realtime-avatar/domain/credits/schemas";
import type { SessionId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import { resumeCall as callResume } from "../../generated/functions.ts";
import type { Caller } from "../callers/callers.ts";
import type { Runner } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { type Claim, findStoredResponse, type WriteOutcome } from "../idempotency/idempotency-keys.ts";
import { statement } from "../query/statement.ts";
import { avatarSlots, avatarWorkers, callAgents, calls, connectionHistories } from "../schema/calls.ts";
import { usageSessions } from "../schema/credits.ts";

const selectCall = statement<Omit<CallToResume, "price"> & { price: string }>(
  "find_call_to_resume",
  sql`
    select ${usageSessions.id} as "sessionId",
      ${usageSessions.endedAt} is null and not ${usageSessions.mustEnd} and ${usageSessions.expiresAt} > now() as "isOpen",
      ${usageSessions.startedAt} is not null as "isStarted",
      ${calls.room} = 'foreign' or exists (
        select from ${callAgents}
        where ${callAgents.tenantId} = ${calls.tenantId} and ${callAgents.sessionId} = ${calls.sessionId}
      ) as "hasAgent",
      ${calls.roomNumber} as "roomNumber", ${calls.roomNumber} > 1 and ${calls.room} = 'create' as "isRoomPending",
      ${calls.input} as "input", (${usageSessions.reserved} / ${usageSessions.price})::integer as "heldSeconds",
      case when ${calls.maxSeconds} > ${sql.raw(String(MAX_SESSION_SECONDS))} then ${calls.maxSeconds}
        else (${usageSessions.reserved} / ${usageSessions.price})::integer end as "maxSeconds", ${usageSessions.price} as "price",
      coalesce(${avatarWorkers.features}, '{}') as "features",
      exists (
        select from ${connectionHistories}
        where ${connectionHistories.tenantId} = ${calls.tenantId} and ${connectionHistories.sessionId} = ${calls.sessionId}
      ) as "hasConnectionHistory"
    from ${usageSessions}
    join ${calls} on ${calls.tenantId} = ${usageSessions.tenantId} and ${calls.sessionId} = ${usageSessions.id}
    left join ${avatarSlots} on ${avatarSlots.sessionId} = ${usageSessions.id}
    left join ${avatarWorkers} on ${avatarWorkers.id} = ${avatarSlots.workerId}
    where ${usageSessions.tenantId} = ${sql.placeholder("tenantId")} and ${usageSessions.id} = ${sql.placeholder("sessionId")}
      and ${usageSessions.environment} = ${sql.placeholder("environment")}
      and ${sql.placeholder("callerId")}::text = any (${usageSessions.lineage})`,
);

/** A call of the caller's lineage; null when the lineage has no call with this id. One statement. */
export const findCallToResume = async (db: Runner, caller: Caller, sessionId: string): Promise<CallToResume | null> => {
  const { tenantId, environment, id: callerId } = caller;
  const [row] = await selectCall(db, { tenantId, environment, callerId, sessionId });
  return row ? { ...row, price: Number(row.price) } : null;
};

/** `stale`: the caller or the call has changed since it was looked up. */
export type ResumeOutcome = { kind: "written" } | { kind: "stale" } | Extract<WriteOutcome, { kind: "replayed" }>;

/**
 * Gives a call its next room. After the commit, the caller must create and confirm this room (`confirmRoom`). Requests
 * for the same number get the same room. One statement; a second one for a stored response.
 */
export const resumeCall = async (
  db: Db,
  { sessionId, roomNumber, roomName }: { sessionId: SessionId; roomNumber: number; roomName: string },
  caller: Caller,
  claim: Claim | null,
): Promise<ResumeOutcome> => {
  const { environment } = caller;
  const [row] = await callResume(db, { caller, environment, sessionId, roomNumber, roomName, claim });
  switch (row?.result) {
    case "written":
    case "stale":
      return { kind: row.result };
    case "replayed":
      // The grant of this request has a new token.
      return (claim && (await findStoredResponse(db, caller, claim))) ?? { kind: "stale" };
    default:
      throw new TypeError(`unknown outcome of a write: ${row?.result}`);
  }
};
