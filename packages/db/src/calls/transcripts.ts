/**
 * Transcripts of calls: the reports of workers, the deliveries, and the kept transcripts. All parts are sealed: see the
 * domain's calls/transcript.ts.
 */
import type { CallMode } from "@realtime-avatar/domain/calls/schemas";
import type { Environment } from "@realtime-avatar/domain/environment";
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import {
  claimTranscripts as callClaim,
  deleteKeptTranscript as callDelete,
  finishTranscript as callFinish,
  sweepKeptTranscripts as callSweep,
  writeTranscript as callWrite,
} from "../../generated/functions.ts";
import { auditEvent, type Origin } from "../audit/audit-events.ts";
import type { AnyCaller } from "../callers/callers.ts";
import type { Runner } from "../connection/batch.ts";
import { requireKind } from "../idempotency/idempotency-keys.ts";
import { statement } from "../query/statement.ts";
import { callSegments, calls, callTranscripts } from "../schema/calls.ts";
import { usageSessions } from "../schema/credits.ts";

/** The segments that a worker reports for a call of this generation. */
export type ReportedSegments = {
  workerId: string;
  sessionId: SessionId;
  generation: number;
  /** The place of the first segment. */
  first: number;
  segments: readonly Uint8Array[];
  /** No more segments follow. */
  isComplete: boolean;
  /** The speech under way after these segments, as far as it was heard; null without any. */
  speaking: Uint8Array | null;
};

/**
 * Adds segments to a call. Returns the next expected place; null when the worker does not have the call, the call has
 * ended, or its transcript is being sent. One statement.
 */
export const writeTranscript = async (db: Runner, reported: ReportedSegments): Promise<number | null> => {
  const [row] = await callWrite(db, reported);
  return row?.result ?? null;
};

/** A transcript to send. */
export type ClaimedTranscript = {
  tenantId: TenantId;
  sessionId: SessionId;
  attemptCount: number;
  receiver: Uint8Array;
  avatarId: string;
  mode: CallMode;
  /** Null: the person has not joined the call. */
  startedAt: Date | null;
  endedAt: Date;
  metadata: Record<string, string>;
  isTruncated: boolean;
  segments: readonly Uint8Array[];
};

/** `after`: only tenants after this one are served. `busyTenants`: tenants that are not served. */
export type TranscriptClaim = {
  lease: string;
  leaseSeconds: number;
  after: string;
  limit: number;
  perTenant: number;
  busyTenants: readonly string[];
};

/**
 * Claims due transcripts, in the order of their tenants. One statement. While nothing is due, it reads one entry of an
 * index.
 */
export const claimTranscripts = async (db: Runner, claim: TranscriptClaim): Promise<ClaimedTranscript[]> =>
  (await callClaim(db, claim)).map((row) => ({
    ...(row as Omit<ClaimedTranscript, "segments">),
    segments: (row.segments ?? []).map((segment) => Buffer.from(segment, "hex")),
  }));

/**
 * Ends an attempt to send a transcript. `delayMs`: the time until the next attempt; null: the transcript was delivered
 * or is given up, and is deleted unless it is kept. Returns whether its lease was still held. One statement.
 */
export const finishTranscript = async (
  db: Runner,
  { tenantId, sessionId }: Pick<ClaimedTranscript, "tenantId" | "sessionId">,
  ended: { lease: string; delayMs: number | null; isAttempt: boolean },
): Promise<boolean> => {
  const [row] = await callFinish(db, { tenantId, sessionId, ...ended });
  return row?.result === true;
};

const selectOldest = statement<{ seconds: number | null }>(
  "oldest_due_transcript",
  sql`
    select floor(extract(epoch from now() - coalesce(leased_until, due_at)))::integer as "seconds" from ${callTranscripts}
    order by coalesce(leased_until, due_at) limit 1`,
);

export type TranscriptStats = {
  /** For how long the oldest transcript has been due; 0 without one. */
  oldestDueSeconds: number;
};

/** The state of the queue. One statement, which reads one entry of an index. */
export const transcriptStats = async (db: Runner): Promise<TranscriptStats> => {
  const [row] = await selectOldest(db, {});
  return { oldestDueSeconds: Math.max(0, row?.seconds ?? 0) };
};

/** The transcript of a session, with its sealed segments. */
export type FoundTranscript = {
  isKept: boolean;
  endedAt: Date | null;
  /** Whether words are missing. */
  isTruncated: boolean;
  /** Whether more segments may follow: the call is open, or its worker can still send its last words. */
  isOpen: boolean;
  segments: readonly Uint8Array[];
};

type TranscriptRow = Omit<FoundTranscript, "segments"> & { segments: readonly string[] };

const HAS_ENDED = sql`${usageSessions.endedAt} is not null`;
/** The interval is that of end_calls. */
const IS_OPEN = sql`(
  ${usageSessions.endedAt} is null
  or not coalesce(${callTranscripts.isComplete}, true) and ${usageSessions.endedAt} + interval '8 seconds' > now()
)`;

const selectKept = statement<TranscriptRow>(
  "find_kept_transcript",
  sql`
    select coalesce(${callTranscripts.isKept}, false) as "isKept", ${usageSessions.endedAt} as "endedAt",
      (coalesce(${callTranscripts.isTruncated}, false)
        -- As in claim_transcripts.
        or ${HAS_ENDED} and ${usageSessions.startedAt} is not null and (${calls.generation} - ${calls.handovers} > 1 or not ${callTranscripts.isComplete})
      ) as "isTruncated",
      ${IS_OPEN} as "isOpen",
      (
        select coalesce(json_agg(encode(${callSegments.segment}, 'hex') order by ${callSegments.generation}, ${callSegments.n}), '[]')
        from ${callSegments}
        where ${callTranscripts.isKept} and ${callSegments.tenantId} = ${callTranscripts.tenantId}
          and ${callSegments.sessionId} = ${callTranscripts.sessionId}
      ) as "segments"
    from ${usageSessions}
    left join ${calls} on ${calls.tenantId} = ${usageSessions.tenantId} and ${calls.sessionId} = ${usageSessions.id}
    left join ${callTranscripts} on ${callTranscripts.tenantId} = ${usageSessions.tenantId}
      and ${callTranscripts.sessionId} = ${usageSessions.id}
    where ${usageSessions.tenantId} = ${sql.placeholder("tenantId")} and ${usageSessions.id} = ${sql.placeholder("id")}
      and ${usageSessions.environment} = ${sql.placeholder("environment")}`,
);

/**
 * The transcript of a session of the owner, without segments when it is not kept. Null when the owner has no such
 * session. One statement.
 */
export const findKeptTranscript = async (
  db: Runner,
  { tenantId, environment }: { tenantId: TenantId; environment: Environment },
  id: SessionId,
): Promise<FoundTranscript | null> => {
  const [row] = await selectKept(db, { tenantId, environment, id });
  return row ? { ...row, segments: row.segments.map((segment) => Buffer.from(segment, "hex")) } : null;
};

/** Deletes the kept transcript of a call, with an audit event. A pending delivery is not affected. One statement. */
export const deleteKeptTranscript = async (
  db: Runner,
  sessionId: SessionId,
  caller: AnyCaller,
  origin: Origin,
): Promise<{ kind: "written" | "not_kept" | "not_found" | "stale" }> => {
  const { tenantId, environment } = caller;
  const event = auditEvent("transcript.deleted", { tenantId, environment, id: sessionId }, origin);
  const [row] = await callDelete(db, { caller, environment, sessionId, auditEvent: event });
  return { kind: requireKind(row?.result ?? null, ["written", "not_kept", "not_found", "stale"]) };
};

/** Deletes up to `limit` kept transcripts of calls that ended before `before`, and returns their number. One statement. */
export const sweepKeptTranscripts = async (db: Runner, before: Date, limit: number): Promise<number> =>
  (await callSweep(db, { before, limit }))[0]?.result ?? 0;
