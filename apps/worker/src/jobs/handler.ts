/** The interface between the job loop and the handlers of jobs. */
import type { ClaimedJob } from "@realtime-avatar/db/jobs/jobs";
import type { JobKind } from "@realtime-avatar/domain/job";

/** The outcome of the work on a job. */
export type JobOutcome =
  /** The handler has written the end of the job and the new status of its target. */
  | { kind: "ready" | "failed" }
  /** No work is left: the target was deleted, or the job belongs to another worker. */
  | { kind: "gone" }
  /** The target's file has not arrived: the handler has given the job back. The attempt does not count. */
  | { kind: "waiting" }
  /**
   * Another attempt can succeed. `error`: the reason for the operator, without secrets and URLs. `isForced`: a test
   * asset forces the failure, so the next attempt follows at once, without a warning for the operator.
   */
  | { kind: "retry"; error: string; isForced?: true };

export type JobContext = {
  /**
   * Aborted when the lease is lost, when the job takes too long, and when the worker stops. From then on, the handler
   * must not write.
   */
  signal: AbortSignal;
  /** Extends the lease now. False: the job belongs to another worker. Call it before a write that cannot be undone. */
  holdLease(): Promise<boolean>;
};

/** Runs a job. A rejection counts as `retry`. */
export type JobHandler = (job: ClaimedJob, context: JobContext) => Promise<JobOutcome>;

/** The handler of each kind of job. */
export type JobHandlers = Record<JobKind, JobHandler>;

/** The maximum number of attempts of a job. */
export const MAX_ATTEMPTS = 5;
