/** The turns of programs in calls: see create_turn.sql. */
import {
  type CommandKind,
  MAX_WAITING_TURNS,
  TURN_REFUSALS,
  type TurnRecord,
  type TurnRefusal,
} from "@realtime-avatar/domain/calls/turns";
import { CONVERSATION, TURNS } from "@realtime-avatar/domain/calls/worker-sync";
import { newId, type SessionId, type TurnId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import { type CreateTurnRow, createTurn as callCreate } from "../../generated/functions.ts";
import type { Origin } from "../audit/audit-events.ts";
import type { Caller } from "../callers/callers.ts";
import type { Runner } from "../connection/batch.ts";
import { type Claim, requireKind, type StoredResponse } from "../idempotency/idempotency-keys.ts";
import { statement } from "../query/statement.ts";
import { callTurns } from "../schema/calls.ts";
import { usageSessions } from "../schema/credits.ts";

/** A turn, or an interruption, whose texts are null. `interrupt`: whether it interrupts the avatar. */
export type NewTurn = {
  id: TurnId;
  sessionId: SessionId;
  kind: CommandKind;
  text: string | null;
  instructions: string | null;
  interrupt: boolean;
};

/** Only `written` wrote a row. */
export type CreateTurnOutcome =
  | { kind: "written" | "not_found" | "stale" }
  | { kind: "refused"; why: TurnRefusal }
  | { kind: "replayed"; response: StoredResponse };

/**
 * Adds a turn to a call of the caller's lineage, or an interruption, which also drops the turns that no worker has
 * received. One statement.
 */
export const createTurn = async (
  db: Runner,
  { interrupt, ...turn }: NewTurn,
  caller: Caller,
  { now, random }: Pick<Origin, "now" | "random">,
  claim: Claim | null,
): Promise<CreateTurnOutcome> => {
  const [row] = await callCreate(db, {
    caller,
    environment: caller.environment,
    turn: { ...turn, interrupts: interrupt, createdAt: now },
    maxWaiting: MAX_WAITING_TURNS,
    feature: TURNS,
    answerFeature: CONVERSATION,
    // The id of a claim's attempt has the form of an audit event's id.
    attemptId: newId("aud", now, random),
    claim,
  });
  const { outcome, bodyHash, responseStatus, location, etag, responseBody, sealedFor } = row as CreateTurnRow;
  const kind = requireKind(outcome, ["written", "not_found", "stale", "replayed", ...TURN_REFUSALS]);
  switch (kind) {
    case "written":
    case "not_found":
    case "stale":
      return { kind };
    case "replayed": {
      const response = { bodyHash, status: responseStatus, location, etag, responseBody, sealedFor };
      return { kind, response: response as StoredResponse };
    }
    default:
      return { kind: "refused", why: kind };
  }
};

const selectTurn = statement<TurnRecord>(
  "find_turn",
  sql`
    select ${callTurns.id} as "id", ${callTurns.sessionId} as "sessionId", ${callTurns.kind} as "kind",
      ${callTurns.status} as "status", ${callTurns.heard} as "heard", ${callTurns.createdAt} as "createdAt",
      ${callTurns.version} as "version"
    from ${callTurns}
    join ${usageSessions} on ${usageSessions.tenantId} = ${callTurns.tenantId} and ${usageSessions.id} = ${callTurns.sessionId}
    where ${callTurns.tenantId} = ${sql.placeholder("tenantId")} and ${callTurns.id} = ${sql.placeholder("id")}
      and ${callTurns.kind} <> 'interrupt' and ${usageSessions.environment} = ${sql.placeholder("environment")}
      and ${sql.placeholder("callerId")} = any (${usageSessions.lineage})`,
);

/** A turn of a call of the caller's lineage. Null when it does not exist, or was deleted an hour after its end. One statement. */
export const findTurn = async (
  db: Runner,
  { tenantId, environment, id: callerId }: Pick<Caller, "tenantId" | "environment" | "id">,
  id: TurnId,
): Promise<TurnRecord | null> => (await selectTurn(db, { tenantId, environment, callerId, id }))[0] ?? null;
