/** Calls: usage sessions with a room and a slot of an avatar worker. The service ends them, and charges them once. */

import type { CallInput, CallMode } from "@realtime-avatar/domain/calls/schemas";
import type { ReleaseTarget, TestOutcome } from "@realtime-avatar/domain/calls/start";
import type { SessionId, TenantId, TicketId } from "@realtime-avatar/domain/id";
import type { Caller } from "../api-keys/callers.ts";
import type { Origin } from "../audit/audit-events.ts";
import type { Runner } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import type { OpenOutcome, SessionRequest, SessionResponseFields } from "../credits/usage-sessions.ts";
import type { Claim, StoredResponse } from "../idempotency/idempotency-keys.ts";

/** A request to start a call. */
export type CallRequest = SessionRequest & {
  mode: CallMode;
  roomName: string;
  input: CallInput;
  testOutcome: TestOutcome | null;
  /** The ticket that the request names. */
  ticketId: string | null;
  /** The id of its ticket, if it gets a new one. */
  newTicketId: TicketId;
  /** See `ticketFingerprint`. */
  fingerprint: string;
};

/** The fields of the response that only the write knows. `features`: of the worker that has the call. */
export type CallResponseFields = Pick<SessionResponseFields, "reservedCreditMicros" | "expiresAt"> & {
  features: string[];
};
/** The place of a request in the queue, from 1, and the number of those that wait. */
export type QueuePlace = { ticketId: TicketId; position: number; size: number };

/** What became of a request to start a call. Only `written` and `queued` wrote anything. */
export type OpenCallOutcome =
  | { kind: "written"; responseFields: CallResponseFields }
  | { kind: "replayed"; response: StoredResponse; responseFields: CallResponseFields }
  /** No slot is free for it. */
  | { kind: "queued"; place: QueuePlace }
  /** No slot is free for it, and its tenant has as many tickets as it may have. */
  | { kind: "too_many_tickets" }
  | Exclude<OpenOutcome, { kind: "written" | "replayed" }>;

/** Starts a call: holds credits, and takes a slot. One statement; another one when the caller is being changed. */
export const openCall: (db: Db, request: CallRequest, caller: Caller, claim: Claim | null) => Promise<OpenCallOutcome> =
  () => Promise.reject(new Error("not built yet"));

/**
 * Records that the room of a call exists. Only now is the call assigned to its worker. `ended`: the call has ended; `failed`:
 * `failCall` has ended it. Then the room is to be deleted.
 */
export const confirmRoom: (
  db: Runner,
  tenantId: TenantId,
  sessionId: SessionId,
) => Promise<"exists" | "ended" | "failed"> = () => Promise.reject(new Error("not built yet"));

/**
 * Ends a call whose room was not created, at no charge, and deletes its claim, so that the request can be sent again. Changes
 * nothing when another request has created the room meanwhile. One statement.
 */
export const failCall: (
  db: Runner,
  tenantId: TenantId,
  sessionId: SessionId,
  claim: Claim | null,
  caller: Caller,
  origin: Origin,
) => Promise<void> = () => Promise.reject(new Error("not built yet"));

/** `roomName`: the room that is to be deleted; null when this release has ended no call. */
export type ReleaseCallOutcome =
  | { kind: "written"; roomName: string | null }
  | { kind: "replayed"; response: StoredResponse }
  | { kind: "stale" };

/** Ends a call of the caller's lineage at once, or gives up a ticket. Anything else is `written` too, and changes nothing. One statement. */
export const releaseCall: (
  db: Db,
  target: ReleaseTarget,
  release: { reason: string | null },
  caller: Caller,
  origin: Origin,
  claim: Claim | null,
) => Promise<ReleaseCallOutcome> = () => Promise.reject(new Error("not built yet"));
