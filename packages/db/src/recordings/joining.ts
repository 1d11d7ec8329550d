/** The work of apps/worker on recordings: it joins the fragments of ended calls, and deletes old files. */
import type { CallMode } from "@realtime-avatar/domain/calls/schemas";
import type { Environment } from "@realtime-avatar/domain/environment";
import type { RecordingId, SessionId, TenantId } from "@realtime-avatar/domain/id";
import type { PlannedRecording, RecordingError } from "@realtime-avatar/domain/recordings/schemas";
import { sql } from "drizzle-orm";
import {
  claimRecordings as callClaim,
  finishRecordings as callFinish,
  renewRecordings as callRenew,
  sweepRecordings as callSweep,
} from "../../generated/functions.ts";
import type { Runner } from "../connection/batch.ts";
import { statement } from "../query/statement.ts";
import { callRecordings, recordings, unneededFiles } from "../schema/recordings.ts";

/**
 * The recordings of a call that a worker has claimed. All of them are made in one pass over its fragments, of which at
 * least one exists.
 */
export type ClaimedRecordings = {
  tenantId: TenantId;
  sessionId: SessionId;
  environment: Environment;
  avatarId: string;
  callMode: CallMode;
  /** Null: the person has not joined the call. */
  startedAt: Date | null;
  endedAt: Date;
  /** Includes this attempt. */
  attemptCount: number;
  recordings: readonly PlannedRecording[];
  /** In the order of their generations and their numbers. */
  fragments: readonly { generation: number; n: number; sizeBytes: number }[];
};

/** `after`: tenants after this one are served. `busyTenants`: tenants that are not served. */
export type RecordingClaim = {
  lease: string;
  leaseSeconds: number;
  after: string;
  limit: number;
  perTenant: number;
  busyTenants: readonly string[];
};

/** Claims recordings that are due, in the order of their tenants. One statement, which reads one entry of an index while nothing is due. */
export const claimRecordings = async (db: Runner, claim: RecordingClaim): Promise<ClaimedRecordings[]> =>
  (await callClaim(db, claim)) as ClaimedRecordings[];

type ClaimedCall = Pick<ClaimedRecordings, "tenantId" | "sessionId">;

/**
 * Renews a lease. Returns whether the lease is still held; otherwise another worker has the call, or all its recordings
 * were deleted. One statement.
 */
export const renewRecordings = async (
  db: Runner,
  { tenantId, sessionId }: ClaimedCall,
  { lease, leaseSeconds }: Pick<RecordingClaim, "lease" | "leaseSeconds">,
): Promise<boolean> => (await callRenew(db, { tenantId, sessionId, lease, leaseSeconds }))[0]?.result === true;

/** A stored file of a recording. `key`: `recordingKey` of the domain. */
export type RecordingFile = {
  id: RecordingId;
  key: string;
  sizeBytes: number;
  durationMs: number;
  mediaStartedAt: Date;
  mediaEndedAt: Date;
};

/** The outcome of an attempt to join. A recording without a file has failed. */
export type JoinOutcome =
  | { kind: "ready"; files: readonly RecordingFile[] }
  | { kind: "retry"; delayMs: number }
  | { kind: "failed"; code: RecordingError };

/**
 * Ends an attempt to join. Recordings that end with it send their events, and their fragments are no longer needed.
 * Returns whether the lease was still held; otherwise the caller must delete the files of the attempt. One statement.
 */
export const finishRecordings = async (
  db: Runner,
  { tenantId, sessionId }: ClaimedCall,
  { lease, outcome }: { lease: string; outcome: JoinOutcome },
): Promise<boolean> => {
  const [row] = await callFinish(db, {
    ...{ tenantId, sessionId, lease },
    delayMs: outcome.kind === "retry" ? outcome.delayMs : null,
    files: outcome.kind === "ready" ? outcome.files : [],
    errorCode: outcome.kind === "failed" ? outcome.code : ("recording_failed" satisfies RecordingError),
  });
  return row?.result === true;
};

/**
 * Expires up to `limit` recordings whose retention has ended, and deletes as many whose retention ended a week ago.
 * Returns the number of changed recordings. One statement.
 */
export const sweepRecordings = async (db: Runner, limit: number): Promise<number> =>
  (await callSweep(db, { limit }))[0]?.result ?? 0;

export type UnneededFile = { tenantId: TenantId; key: string };

const dueAt = sql`coalesce(${unneededFiles.retryAt}, ${unneededFiles.createdAt})`;

const selectUnneeded = statement<UnneededFile>(
  "list_unneeded_files",
  sql`
    select ${unneededFiles.tenantId} as "tenantId", ${unneededFiles.key} as "key" from ${unneededFiles}
    where ${dueAt} <= ${sql.placeholder("dueBefore")}::timestamptz order by ${dueAt} limit ${sql.placeholder("limit")}::integer`,
);

/** Up to `limit` stored files whose deletion is due at this time, the longest due first. One statement. */
export const listUnneededFiles = (db: Runner, limit: number, dueBefore: Date): Promise<UnneededFile[]> =>
  selectUnneeded(db, { limit, dueBefore });

const isListed = sql`(${unneededFiles.tenantId}, ${unneededFiles.key}) in (
      select tenant_id collate "C", key collate "C"
      from unnest(${sql.placeholder("tenantIds")}::text[], ${sql.placeholder("keys")}::text[]) file (tenant_id, key)
    )`;
const columns = (files: readonly UnneededFile[]) => ({
  tenantIds: files.map(({ tenantId }) => tenantId),
  keys: files.map(({ key }) => key),
});

const deleteUnneeded = statement<object>("forget_unneeded_files", sql`delete from ${unneededFiles} where ${isListed}`);

/** Records that files are deleted. One statement. */
export const forgetUnneededFiles = async (db: Runner, files: readonly UnneededFile[]): Promise<void> => {
  await deleteUnneeded(db, columns(files));
};

const postponeUnneeded = statement<object>(
  "postpone_unneeded_files",
  sql`
    update ${unneededFiles} set retry_at = date_trunc('milliseconds', now()) + least(
      greatest(now() - ${unneededFiles.createdAt}, interval '10 seconds'), interval '10 minutes'
    ) where ${isListed}`,
);

/**
 * Records that the store has not deleted files. Each is tried again after as much time as it has waited so far, from
 * ten seconds to ten minutes, so that it does not delay others. One statement.
 */
export const postponeUnneededFiles = async (db: Runner, files: readonly UnneededFile[]): Promise<void> => {
  await postponeUnneeded(db, columns(files));
};

export type RecordingStats = {
  /** For how long the oldest recording of a call has been due; 0 when no recording is due. */
  oldestDueSeconds: number;
  /** For how long the oldest unneeded file has waited for its deletion; 0 without such a file. */
  oldestUnneededSeconds: number;
  /** The bytes of ready recordings, and of the fragments of the others. */
  storedBytes: number;
};

const selectStats = statement<{
  oldestDueSeconds: number | null;
  oldestUnneededSeconds: number | null;
  storedBytes: string | null;
}>(
  "recording_stats",
  sql`
    select (
      select floor(extract(epoch from now() - coalesce(leased_until, due_at)))::integer from ${callRecordings}
      order by coalesce(leased_until, due_at) limit 1
    ) as "oldestDueSeconds", (
      select floor(extract(epoch from now() - ${unneededFiles.createdAt}))::integer from ${unneededFiles}
      order by ${unneededFiles.createdAt} limit 1
    ) as "oldestUnneededSeconds", (
      coalesce((select sum(${recordings.sizeBytes}) from ${recordings} where ${recordings.status} = 'ready'), 0)
      + coalesce((select sum(${callRecordings.sizeBytes}) from ${callRecordings}), 0)
    )::bigint as "storedBytes"`,
);

/** The state of the queue and of the store. One statement, which reads the sizes of all recordings in an index. */
export const recordingStats = async (db: Runner): Promise<RecordingStats> => {
  const [row] = await selectStats(db, {});
  return {
    oldestDueSeconds: Math.max(0, row?.oldestDueSeconds ?? 0),
    oldestUnneededSeconds: Math.max(0, row?.oldestUnneededSeconds ?? 0),
    storedBytes: Number(row?.storedBytes ?? 0),
  };
};
