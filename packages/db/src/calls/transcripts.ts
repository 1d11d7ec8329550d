/** Transcripts of calls: what workers report of them, and how they are delivered. All parts are sealed: the domain's calls/transcript.ts. */
import type { CallMode } from "@realtime-avatar/domain/calls/schemas";
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import {
  claimTranscripts as callClaim,
  finishTranscript as callFinish,
  writeTranscript as callWrite,
} from "../../generated/functions.ts";
import type { Runner } from "../connection/batch.ts";
import { statement } from "../query/statement.ts";
import { callTranscripts } from "../schema/calls.ts";

/** Segments that a worker reports of a call that it has at this generation. */
export type ReportedSegments = {
  workerId: string;
  sessionId: SessionId;
  generation: number;
  /** The place of the first one. */
  first: number;
  segments: readonly Uint8Array[];
  /** Nothing more comes. */
  isComplete: boolean;
};

/**
 * Adds segments to a transcript. Returns the place that is expected next; null when the worker does not have the call, or the transcript
 * is being sent. One statement.
 */
export const writeTranscript = async (db: Runner, reported: ReportedSegments): Promise<number | null> => {
  const [row] = await callWrite(db, reported);
  return row?.result ?? null;
};

/** A transcript that is to be sent. */
export type ClaimedTranscript = {
  tenantId: TenantId;
  sessionId: SessionId;
  attemptCount: number;
  receiver: Uint8Array;
  avatarId: string;
  mode: CallMode;
  /** Null: nobody has joined the call. */
  startedAt: Date | null;
  endedAt: Date;
  metadata: Record<string, string>;
  isTruncated: boolean;
  segments: readonly Uint8Array[];
};

/** `after`: tenants behind this one are served. `busyTenants`: those that are not. */
export type TranscriptClaim = {
  lease: string;
  leaseSeconds: number;
  after: string;
  limit: number;
  perTenant: number;
  busyTenants: readonly string[];
};

/** Claims transcripts that are due, in the order of their tenants. One statement, which reads one entry of an index while nothing is due. */
export const claimTranscripts = async (db: Runner, claim: TranscriptClaim): Promise<ClaimedTranscript[]> =>
  (await callClaim(db, claim)).map((row) => ({
    ...(row as Omit<ClaimedTranscript, "segments">),
    segments: (row.segments ?? []).map((segment) => Buffer.from(segment, "hex")),
  }));

/**
 * Ends an attempt to send a transcript. `delayMs`: until the next one; null: it was delivered, or is given up, and is deleted. Returns whether
 * its lease was still held. One statement.
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
  /** For how long the oldest transcript has been due; 0 when none is. */
  oldestDueSeconds: number;
};

/** The state of the queue. One statement, which reads one entry of an index. */
export const transcriptStats = async (db: Runner): Promise<TranscriptStats> => {
  const [row] = await selectOldest(db, {});
  return { oldestDueSeconds: Math.max(0, row?.seconds ?? 0) };
};
