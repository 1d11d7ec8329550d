/** Jobs in the database: a queue that the worker serves, fair between tenants. */
import type { AuditAction } from "@realtime-avatar/domain/audit";
import { JOB_KINDS, type JobKind, type JobRecord } from "@realtime-avatar/domain/job";
import { VIDEO_ERRORS } from "@realtime-avatar/domain/videos/errors";
import {
  claimJob as callClaim,
  renewJob as callRenew,
  retryJob as callRetry,
  countJobs,
} from "../../generated/functions.ts";
import { auditEvent, type Origin } from "../audit/audit-events.ts";
import type { Runner } from "../connection/batch.ts";
import { requireKind } from "../idempotency/idempotency-keys.ts";

export type { JobRecord } from "@realtime-avatar/domain/job";

/** A job that a worker holds until its lease ends. */
export type ClaimedJob = JobRecord & {
  /**
   * The number of claims of the job, including this one. It also counts workers that died while they ran this job
   * alone, so it can exceed the maximum number of attempts. Then `retryJob` ends the job.
   */
  attempts: number;
  /**
   * Whether its worker died while the job ran. Such a job runs alone, so that the next death does not count for other
   * jobs.
   */
  runsAlone: boolean;
  /** Identifies this claim: with another lease, the job belongs to another worker. */
  lease: string;
};

export type JobClaim = {
  /** Different for each claim. */
  lease: string;
  leaseSeconds: number;
  /** Maximum number of jobs of one tenant at once. The same number of videos may run in addition. */
  slots: number;
  kinds: readonly JobKind[];
};

/**
 * Claims a job, of the tenant that was served longest ago, for a worker that runs other jobs. `null` when no job can
 * run now. `alone`: the next job must run alone, so nothing is claimed. One statement.
 */
export const claimJobBeside = async (db: Runner, claim: JobClaim): Promise<ClaimedJob | "alone" | null> => {
  const [row] = await callClaim(db, { ...claim, isIdle: false });
  if (!row) return null;
  return row.id === null ? "alone" : ({ ...row, lease: claim.lease } as ClaimedJob);
};

/** Like `claimJob`, for an idle worker, which can run a job that must run alone. One statement. */
export const claimJob = async (db: Runner, claim: JobClaim): Promise<ClaimedJob | null> => {
  const [row] = await callClaim(db, { ...claim, isIdle: true });
  return row ? ({ ...row, lease: claim.lease } as ClaimedJob) : null;
};

/**
 * Extends the lease of a job. False: the lease is lost, and the worker must stop. With 0 seconds the lease runs out at
 * once, as after the death of the worker. One statement.
 */
export const renewJob = async (db: Runner, job: ClaimedJob, leaseSeconds: number): Promise<boolean> => {
  const [row] = await callRenew(db, { job, lease: job.lease, leaseSeconds });
  return row?.result === true;
};

export type JobFailure = {
  /** The reason of the failure, for the operator. At most 500 characters are stored. */
  error: string;
  /** The delay before the next attempt. */
  delaySeconds: number;
  /**
   * The maximum number of claims, after which the job has failed. Null when the worker hands the job back; then the
   * attempt does not count.
   */
  maxAttempts: number | null;
};

/** The error of the target after the last failed attempt of its job, and the action of the audit event. */
const EXHAUSTED = {
  process_asset: {
    action: "asset.failed",
    detail: "The file could not be processed, for a reason that is not in the file. Upload or import it again.",
  },
  prepare_avatar: {
    action: "avatar.preparation_failed",
    detail: "The avatar could not be prepared, for a reason that is not in its source. Prepare it again.",
  },
  render_video: { action: null, detail: VIDEO_ERRORS.internal },
} as const satisfies Record<JobKind, { action: AuditAction | null; detail: string }>;

/**
 * Gives a job back after an attempt that failed. `exhausted`: it was the last attempt; the job is deleted, and its target
 * has failed: an asset or a video with the code `internal`, an avatar without checks. `lost`: the lease is lost. One statement.
 */
export const retryJob = async (
  db: Runner,
  job: ClaimedJob,
  { error, delaySeconds, maxAttempts }: JobFailure,
  origin: Origin,
): Promise<"retried" | "exhausted" | "lost"> => {
  const { action, detail } = EXHAUSTED[job.kind];
  const [row] = await callRetry(db, {
    job,
    lease: job.lease,
    error,
    delayMs: Math.round(delaySeconds * 1000),
    maxAttempts,
    detail,
    auditEvent: action === null ? null : auditEvent(action, { ...job, id: job.targetId }, origin),
    requestId: origin.requestId,
  });
  return requireKind(row?.result ?? null, ["retried", "exhausted", "lost"] as const);
};

export type JobStats = {
  /** Jobs that a worker could claim now, counted up to 10,000. */
  queued: number;
  /** Jobs that a worker holds. */
  running: number;
  /**
   * How long the oldest queued job has been due, among the tenants that no worker serves now; 0 without one. A tenant
   * with more jobs than slots waits only for its own jobs, so it needs no alert.
   */
  oldestSeconds: number;
};

/** The depth of the queue. One statement that reads a bounded number of rows. */
export const jobStats = async (db: Runner): Promise<JobStats> => {
  const [row] = await countJobs(db, { kinds: JOB_KINDS });
  return { queued: Number(row?.queued), running: Number(row?.running), oldestSeconds: row?.oldestSeconds ?? 0 };
};
