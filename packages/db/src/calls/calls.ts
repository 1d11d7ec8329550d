/** Calls: usage sessions with a room and a slot of an avatar worker. The service ends each call and charges it once. */
import { AWAY_REASONS, type CallInput, type CallMode } from "@realtime-avatar/domain/calls/schemas";
import type { ReleaseTarget, TestOutcome } from "@realtime-avatar/domain/calls/start";
import { newId, type SessionId, type TenantId, type TicketId } from "@realtime-avatar/domain/id";
import type { RecordedMode } from "@realtime-avatar/domain/recordings/modes";
import type { PlannedRecording } from "@realtime-avatar/domain/recordings/schemas";
import {
  type CallRequest as CallRequestRow,
  attachAgent as callAttach,
  confirmRoom as callConfirm,
  failCall as callFail,
  releaseCall as callRelease,
  type OpenUsageSessionsRow,
  openUsageSessions,
} from "../../generated/functions.ts";
import type { Origin } from "../audit/audit-events.ts";
import type { Caller } from "../callers/callers.ts";
import type { Runner } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import {
  type OpenOutcome,
  openOutcomeOf,
  type SessionRequest,
  type SessionResponseFields,
} from "../credits/usage-sessions.ts";
import { batchedWrite, type Write } from "../idempotency/batched-write.ts";
import type { Claim, StoredResponse } from "../idempotency/idempotency-keys.ts";

/**
 * The room that an agent brings: its server and the token with which the avatar joins, and the participant for whom it
 * speaks.
 */
export type BroughtRoom = {
  url: string;
  /** Sealed; see the domain's calls/brought-room.ts. */
  token: Uint8Array;
  /** The digest of the token and the key. */
  digest: Uint8Array;
  agentIdentity: string;
};

/** A request to start a call. */
export type CallRequest = SessionRequest & {
  /**
   * For a call whose hold grows: the requested length, and the maximum for a tenant whose maximum the operator has not
   * set.
   */
  growth: { longestSeconds: number; defaultLimit: number } | null;
  mode: CallMode;
  roomName: string;
  input: CallInput;
  testOutcome: TestOutcome | null;
  /** The ticket that the request names; null without one. */
  ticketId: string | null;
  /** The id of a new ticket, if the request gets one. */
  newTicketId: TicketId;
  /** See `ticketFingerprint`. */
  fingerprint: string;
  /** Whether an agent is dispatched into the room. Then the call starts when the agent brings the avatar. */
  awaitsAgent: boolean;
  /** The receiver of its transcript, sealed (the domain's calls/transcript.ts); null: no transcript is sent. */
  transcript: Uint8Array | null;
  /** Its recordings, and for how long they are kept; null: none. */
  recording: { mode: RecordedMode; retentionDays: number; files: readonly PlannedRecording[] } | null;
  /** Whether its pages upload how well they are connected. */
  hasConnectionHistory: boolean;
  /** The brought room of the call. null: the service creates a room. */
  brought: BroughtRoom | null;
  /** The conversation of the call; null: the call has no conversation at any worker. */
  conversation: ConversationNeeds | null;
};

/**
 * `price`: the price of a second at a worker that holds a conversation. `voiceId`, `model`: those of the request; null
 * when it names none.
 */
export type ConversationNeeds = { price: number; voiceId: string | null; model: string | null };

/** The fields of the response that only the write knows. `features`: those of the call's worker. */
export type CallResponseFields = Pick<SessionResponseFields, "reservedCreditMicros" | "expiresAt"> & {
  features: string[];
  /** Missing in responses that the previous release stored. */
  priceCreditMicrosPerSecond?: number;
  /** The maximum length of a call whose hold grows. */
  longestSeconds?: number | null;
};
/** The parts of a request that no worker supports. */
export type UnsupportedField = "voice" | "model" | "recording";
/** The place of a request in the queue, from 1, and the number of those that wait. */
export type QueuePlace = { ticketId: TicketId; position: number; size: number };

/** The outcome of a request to start a call. Only `written` and `queued` wrote rows. */
export type OpenCallOutcome =
  | { kind: "written"; responseFields: CallResponseFields }
  | { kind: "replayed"; response: StoredResponse; responseFields: CallResponseFields }
  /** No slot is free for the call. */
  | { kind: "queued"; place: QueuePlace }
  /** No slot is free for the call, and its tenant has the maximum number of tickets. */
  | { kind: "too_many_tickets" }
  /** Too many transcripts of the tenant wait for another attempt. */
  | { kind: "too_many_transcripts" }
  /** The key has sent the same token before. The call of that request is open. */
  | { kind: "same"; sessionId: SessionId }
  /** No worker has the voice or the model that the request names. */
  | { kind: "unsupported"; fields: UnsupportedField[] }
  /** The request asks for more than `limit` seconds, the maximum that the operator allows the tenant. */
  | { kind: "too_long"; limit: number }
  /** `price`: of a second at the worker whose slot the call would have. */
  | (Extract<OpenOutcome, { kind: CreditRefusal }> & { price: number })
  | Exclude<OpenOutcome, { kind: "written" | "replayed" | CreditRefusal }>;
type CreditRefusal = "insufficient_credits" | "spend_limit_exceeded";

/** The call as a parameter of the database function, beside its session. */
const callRow = (request: CallRequest): CallRequestRow => ({
  mode: request.mode,
  roomName: request.roomName,
  input: request.input,
  // With this test outcome, the hold is shorter than the requested length, so the call runs out of credits.
  maxSeconds:
    request.growth?.longestSeconds ??
    (request.testOutcome === "out_of_credits" ? request.maxSeconds + 1 : request.maxSeconds),
  defaultLimit: request.growth?.defaultLimit ?? null,
  ticketId: request.ticketId,
  newTicketId: request.newTicketId,
  fingerprint: request.fingerprint,
  isQueued: request.testOutcome === "queued" ? true : null,
  awaitsAgent: request.awaitsAgent,
  joinUrl: request.brought?.url ?? null,
  joinToken: request.brought?.token ?? null,
  tokenDigest: request.brought?.digest ?? null,
  agentIdentity: request.brought?.agentIdentity ?? null,
  conversationPrice: request.conversation?.price ?? null,
  voiceId: request.conversation?.voiceId ?? null,
  model: request.conversation?.model ?? null,
  transcript: request.transcript,
  recording: request.recording,
  hasConnectionHistory: request.hasConnectionHistory,
});

/** For how many seconds a test call with the outcome `out_of_credits` holds credits. */
const SHORT_SECONDS = 10;
const sessionOf = (request: CallRequest): SessionRequest => {
  if (request.testOutcome !== "out_of_credits") return request;
  const maxSeconds = Math.min(request.maxSeconds, SHORT_SECONDS);
  return { ...request, maxSeconds, minSeconds: Math.min(request.minSeconds, maxSeconds) };
};

const responseFieldsOf = (row: OpenUsageSessionsRow): CallResponseFields => {
  const fields = row.responseFields as CallResponseFields;
  return { ...fields, expiresAt: new Date(fields.expiresAt).toISOString() };
};

const callOutcomeOf = (row: OpenUsageSessionsRow): OpenCallOutcome => {
  switch (row.kind) {
    case "queued":
      return {
        kind: row.kind,
        place: {
          ticketId: row.ticketId as TicketId,
          position: row.queuePosition as number,
          size: row.queueSize as number,
        },
      };
    case "too_many_tickets":
    case "too_many_transcripts":
      return { kind: row.kind };
    case "same":
      return { kind: row.kind, sessionId: row.sessionId as SessionId };
    case "unsupported":
      return { kind: row.kind, fields: row.unsupported as UnsupportedField[] };
    case "too_long":
      return { kind: row.kind, limit: Number(row.sessionLimit) };
    default: {
      const outcome = openOutcomeOf(row);
      switch (outcome.kind) {
        case "written":
        case "replayed":
          return { ...outcome, responseFields: responseFieldsOf(row) };
        case "insufficient_credits":
        case "spend_limit_exceeded":
          return { ...outcome, price: Number(row.price) };
        default:
          return outcome;
      }
    }
  }
};

const open = batchedWrite<Write & { request: CallRequest }, OpenCallOutcome>(
  "open_call",
  async (db, writes, parameters) => {
    const requests = writes.map(({ request }) => sessionOf(request));
    const calls = writes.map(({ request }) => callRow(request));
    return (await openUsageSessions(db, { ...parameters, requests, calls })).map(callOutcomeOf);
  },
  // A batch looks up brought tokens once, so it has at most one brought room of a key.
  ({ request, caller }) => request.brought && `${caller.id} brought`,
);

/**
 * Starts a call: holds credits and takes a slot. One statement. Runs a second one when the caller is being changed, and
 * none for the test outcome `concurrency_limit_reached`.
 */
export const openCall = async (
  db: Db,
  request: CallRequest,
  caller: Caller,
  claim: Claim | null,
): Promise<OpenCallOutcome> =>
  request.testOutcome === "concurrency_limit_reached"
    ? { kind: "concurrency_limit_reached", limitedBy: "tenant", limit: 1 }
    : open(db, { request, caller, claim });

/** The state of a call whose room was created. `failed`: `failCall` has ended the call. */
export type ConfirmedRoom = "exists" | "ended" | "failed";

/**
 * Records that a room of a call exists. From then on, the call is assigned to its worker, or its worker moves to this
 * room. With another result than `exists`, the call has ended or has another room, so the caller must delete this room.
 * One statement.
 */
export const confirmRoom = async (
  db: Runner,
  tenantId: TenantId,
  sessionId: SessionId,
  roomName: string,
): Promise<ConfirmedRoom> => {
  const [row] = await callConfirm(db, { tenantId, sessionId, roomName });
  return row?.result as ConfirmedRoom;
};

/** The outcome of `attachAgent`. `other`: the agent has brought another token before. */
export type AttachOutcome = "attached" | "other" | "not_found" | "ended";

/**
 * Writes the room and token that the agent of a call in one of our rooms has brought. From then on, the call is
 * assigned to its worker. One statement.
 */
export const attachAgent = async (
  db: Runner,
  { tenantId, sessionId }: { tenantId: TenantId; sessionId: SessionId },
  avatarId: string,
  { url, token, digest, agentIdentity }: BroughtRoom,
): Promise<AttachOutcome> => {
  const brought = { url, token, digest, identity: agentIdentity };
  const [row] = await callAttach(db, { tenantId, sessionId, avatarId, ...brought });
  return row?.result as AttachOutcome;
};

/** The ids of the entries that the end of a session writes. */
const entriesOf = ({ now, random, requestId }: Origin) => ({
  settleEntryId: newId("ent", now, random),
  restEntryId: newId("ent", now, random),
  requestId,
});

/**
 * Ends a call whose room was not created, without a charge, and deletes its claim, so that the request can be sent
 * again. Changes nothing when another request has created the room meanwhile. One statement.
 */
export const failCall = async (
  db: Runner,
  tenantId: TenantId,
  sessionId: SessionId,
  claim: Claim | null,
  caller: Caller,
  origin: Origin,
): Promise<void> => {
  await callFail(db, { tenantId, sessionId, callerId: caller.id, claim, ...entriesOf(origin) });
};

/**
 * `hasEnded`: whether this release has ended a call. `roomName`: its room, which must be deleted; null when the room is
 * not ours.
 */
export type ReleaseCallOutcome =
  | { kind: "written"; hasEnded: boolean; roomName: string | null }
  | { kind: "replayed"; response: StoredResponse }
  | { kind: "stale" };

/**
 * Ends a call of the caller's lineage at once, or gives up a ticket. For any other target the outcome is also
 * `written`, and nothing changes. `reason`: the caller's text. After one of `AWAY_REASONS`, a call that can be resumed
 * goes on, and `hasEnded` is false. One statement.
 */
export const releaseCall = async (
  db: Runner,
  target: ReleaseTarget,
  { reason }: { reason: string | null },
  caller: Caller,
  origin: Origin,
  claim: Claim | null,
): Promise<ReleaseCallOutcome> => {
  const [row] = await callRelease(db, {
    caller,
    environment: caller.environment,
    sessionId: target.kind === "session" ? target.id : null,
    ticketId: target.kind === "ticket" ? target.id : null,
    reason,
    isAway: AWAY_REASONS.some((one) => one === reason),
    ...entriesOf(origin),
    claim,
  });
  switch (row?.kind) {
    case "written":
      return { kind: row.kind, hasEnded: row.hasEnded === true, roomName: row.roomName };
    case "replayed":
      // The other columns of the claim are equal for all releases of this body.
      return { kind: row.kind, response: { ...(claim as Claim), bodyHash: row.bodyHash as Uint8Array } };
    case "stale":
      return { kind: row.kind };
    default:
      throw new TypeError(`unknown outcome of a write: ${row?.kind}`);
  }
};
