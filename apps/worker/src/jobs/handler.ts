/** What the job loop and the work of each kind of job agree on. */
import type { ClaimedJob } from "@realtime-avatar/db/jobs/jobs";
import type { JobKind } from "@realtime-avatar/domain/job";

/** How the work on a job ended. */
export type JobOutcome =
  /** The job has ended and its target has its new status: the handler has written both. */
  | { kind: "ready" | "failed" }
  /** The target was deleted, or the job belongs to another worker: nothing is left to do. */
  | { kind: "gone" }
  /** What the target needs is still on its way: the handler has given the job back, and the attempt does not count. */
  | { kind: "waiting" }
  /**
   * Another attempt can succeed. `error` says why this one did not, for the operator: no secret, no URL. `isForced`: the
   * caller wants it to fail, so the next attempt follows at once, and no operator is told.
   */
  | { kind: "retry"; error: string; isForced?: true };

export type JobContext = {
  /** Aborted when the lease is lost, when the job takes too long, and when the worker stops. Then nothing more is written. */
  signal: AbortSignal;
  /** Extends the lease now. False: the job belongs to another worker. Call it before a write that cannot be undone. */
  holdLease(): Promise<boolean>;
};

/** Does the work of a job. A rejection counts as `retry`. */
export type JobHandler = (job: ClaimedJob, context: JobContext) => Promise<JobOutcome>;

/** The handler of each kind. A new kind of job is one more entry. */
export type JobHandlers = Record<JobKind, JobHandler>;

/** How often a job is tried. */
export const MAX_ATTEMPTS = 5;
