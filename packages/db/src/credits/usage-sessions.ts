/** Usage sessions: calls that hold credits while they are open, and are charged once. */
import type { AvatarStatus } from "@realtime-avatar/domain/avatars/status";
import type { SessionLimitedBy } from "@realtime-avatar/domain/credits/open";
import type { UsageSession } from "@realtime-avatar/domain/credits/schemas";
import type { SessionRecord } from "@realtime-avatar/domain/credits/session";
import type { Environment } from "@realtime-avatar/domain/environment";
import { type AvatarId, type CreditEntryId, newId, type SessionId, type TenantId } from "@realtime-avatar/domain/id";
import {
  type OpenUsageSessionsRow,
  openUsageSessions,
  releaseSessions,
  reportUsages,
  type SessionChange,
  type ReportUsagesRow as SessionChangeOutcomeRow,
} from "../../generated/functions.ts";
import type { Origin } from "../audit/audit-events.ts";
import type { Caller } from "../callers/callers.ts";
import type { Runner } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { batchedWrite, type Write } from "../idempotency/batched-write.ts";
import type { Claim, StoredResponse } from "../idempotency/idempotency-keys.ts";
import { closeOverdueSessions, SWEPT } from "./overdue-sessions.ts";

/** A request to open a session. */
export type SessionRequest = {
  id: SessionId;
  environment: Environment;
  avatarId: AvatarId | null;
  maxSeconds: number;
  minSeconds: number;
  /** Credit micros for each second. */
  price: number;
  /** The session must be started within this time. */
  startSeconds: number;
  metadata: Record<string, string>;
  entryId: CreditEntryId;
  requestId: string;
  createdAt: Date;
};

/** The fields of the response that only the write knows. */
export type SessionResponseFields = Pick<UsageSession, "avatarName" | "reservedCreditMicros" | "expiresAt">;

/** The outcome of a request to open a session. Only `written` wrote rows. */
export type OpenOutcome =
  | { kind: "written"; responseFields: SessionResponseFields }
  | { kind: "stale" }
  | { kind: "avatar_not_found" }
  | { kind: "insufficient_credits" }
  | { kind: "avatar_not_ready"; avatarStatus: AvatarStatus }
  | { kind: "spend_limit_exceeded"; limitedBy: "self" | "ancestor" }
  | { kind: "concurrency_limit_reached"; limitedBy: SessionLimitedBy; limit: number }
  | { kind: "replayed"; response: StoredResponse; responseFields: SessionResponseFields };

const responseFieldsOf = ({
  avatarName,
  reserved,
  expiresAt,
}: Pick<OpenUsageSessionsRow, "avatarName" | "reserved" | "expiresAt">): SessionResponseFields => ({
  avatarName,
  reservedCreditMicros: Number(reserved),
  expiresAt: (expiresAt as Date).toISOString(),
});

/** The outcome of a request that does not start a call. */
export const openOutcomeOf = (row: OpenUsageSessionsRow): OpenOutcome => {
  const { kind, limitedBy, sessionLimit, reserved, expiresAt, avatarName, responseFields } = row;
  const { bodyHash, status, location, etag, responseBody, sealedFor } = row;
  switch (kind) {
    case "written":
      return { kind, responseFields: responseFieldsOf({ avatarName, reserved, expiresAt }) };
    case "stale":
    case "avatar_not_found":
    case "insufficient_credits":
      return { kind };
    case "avatar_not_ready":
      return { kind, avatarStatus: row.avatarStatus as AvatarStatus };
    case "spend_limit_exceeded":
      return { kind, limitedBy: limitedBy === "self" ? "self" : "ancestor" };
    case "concurrency_limit_reached":
      return { kind, limitedBy: limitedBy as SessionLimitedBy, limit: Number(sessionLimit) };
    case "replayed":
      return {
        kind,
        response: { bodyHash, status, location, etag, responseBody, sealedFor } as StoredResponse,
        responseFields: responseFields as SessionResponseFields,
      };
    default:
      throw new TypeError(`unknown outcome of a write: ${kind}`);
  }
};

const open = batchedWrite<Write & { request: SessionRequest }, OpenOutcome>(
  "open_usage_session",
  async (db, writes, parameters) => {
    const rows = await openUsageSessions(db, {
      ...parameters,
      requests: writes.map(({ request }) => request),
      calls: null,
    });
    return rows.map(openOutcomeOf);
  },
);

/**
 * Opens a session, and holds credits for it. The stored response of a claim lacks the `SessionResponseFields`, which
 * are stored beside it. One statement. Runs a second one when the caller is being changed.
 */
export const openUsageSession = (
  db: Db,
  request: SessionRequest,
  caller: Caller,
  claim: Claim | null = null,
): Promise<OpenOutcome> => open(db, { request, caller, claim });

/** The outcome of a report or a release. `Details`: the fields of only one of them. */
export type SessionOutcome<Details> =
  /** Nothing was written: an earlier request with the same claim was written, with this response. */
  | { kind: "replayed"; response: StoredResponse; responseFields: SessionRecord }
  | ({ kind: "written"; session: SessionRecord } & Details)
  /** The session has ended; for a release, with another charge. */
  | ({ kind: "session_closed"; session: SessionRecord } & Details)
  | { kind: "not_found" }
  | { kind: "stale" };

type SessionWrite = Write & { change: SessionChange };
/** `mustEnd` of the session: whether its call must end. */
type ReportOutcome = SessionOutcome<object>;
/** `hasEnded`: whether this release has ended the session; false when an earlier one has. */
type ReleaseOutcome = SessionOutcome<{ hasEnded: boolean }>;

const sessionOutcomeOf = (row: SessionChangeOutcomeRow, claim: Claim | null): ReleaseOutcome => {
  const { kind, bodyHash, etag } = row;
  const session = row.session as SessionRecord;
  switch (kind) {
    case "replayed":
      return {
        kind,
        // The other columns of the claim are equal for all requests with this claim.
        response: { ...(claim as Claim), bodyHash: bodyHash as Uint8Array, etag: etag as string },
        responseFields: session,
      };
    case "written":
    case "session_closed":
      return { kind, session, hasEnded: row.hasEnded === true };
    case "not_found":
    case "stale":
      return { kind };
    default:
      throw new TypeError(`unknown outcome of a write: ${kind}`);
  }
};

/**
 * Batches of reports or releases. A batch has a session only once, so two changes of one session are executed one after
 * the other. Two changes with the same claim name the same session.
 */
const batchedChange = (name: string, call: typeof reportUsages) =>
  batchedWrite<SessionWrite, ReleaseOutcome>(
    name,
    async (db, writes, parameters) => {
      const rows = await call(db, { ...parameters, changes: writes.map(({ change }) => change) });
      return writes.map(({ claim }, index) => sessionOutcomeOf(rows[index] as SessionChangeOutcomeRow, claim));
    },
    ({ change }) => change.sessionId,
  );
const report = batchedChange("report_usage", reportUsages);
const release = batchedChange("release_session", releaseSessions);

const NO_RELEASE = { reason: null, settleEntryId: null, restEntryId: null, requestId: null };

/**
 * Records the usage of an open session so far, in credit micros, and extends its lease. With a claim, the whole
 * response is stored as response fields. One statement. Runs a second one when the caller or the session is being
 * changed.
 */
export const reportUsage = (
  db: Db,
  sessionId: SessionId,
  { used, leaseSeconds }: { used: number; leaseSeconds: number },
  caller: Caller,
  claim: Claim | null = null,
): Promise<ReportOutcome> => {
  const { environment } = caller;
  const change = { ...NO_RELEASE, environment, sessionId, isEngine: true, used, leaseSeconds };
  return report(db, { change, caller, claim });
};

/** The terms of a release. */
export type Release = {
  /**
   * Whether the caller may write usage. Such a caller may state the usage of the session, and may release any session.
   */
  isEngine: boolean;
  /** The total usage of the session, in credit micros; null when the caller does not state it. */
  used: number | null;
  reason: string | null;
};

/**
 * Ends a session and charges it once, or marks it for its engine to end: see `release_sessions.sql`. With a claim, the
 * whole response is stored as response fields. One statement. Runs a second one when the caller or the session is being
 * changed.
 */
export const releaseSession = (
  db: Db,
  sessionId: SessionId,
  { isEngine, used, reason }: Release,
  caller: Caller,
  { now, random, requestId }: Origin,
  claim: Claim | null = null,
): Promise<ReleaseOutcome> => {
  const { environment } = caller;
  const ids = { settleEntryId: newId("ent", now, random), restEntryId: newId("ent", now, random), requestId };
  const change = { environment, sessionId, isEngine, used, reason, leaseSeconds: null, ...ids };
  return release(db, { change, caller, claim });
};

/**
 * Closes overdue sessions, of one tenant or, with null, of all, and returns their number. A statement closes at most a
 * thousand, and is repeated until all are closed. Correctness does not depend on it: an overdue session can be neither
 * started nor reported.
 */
export const sweepSessions = async (db: Runner, tenantId: TenantId | null, origin: Origin): Promise<number> => {
  for (let all = 0; ; ) {
    const { closed, visited } = await closeOverdueSessions(db, tenantId, SWEPT, origin);
    all += closed;
    if (visited < SWEPT) return all;
  }
};
