/** Runs one job: keeps its lease, calls its handler, and records a failed attempt. */
import { DatabaseError } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type ClaimedJob, renewJob, retryJob } from "@realtime-avatar/db/jobs/jobs";
import { newRequestId, type RandomBytes } from "@realtime-avatar/domain/id";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { JobOutcome as JobResult } from "@realtime-avatar/runtime/metrics";
import { StorageError } from "@realtime-avatar/storage/storage";
import { type JobHandlers, type JobOutcome, MAX_ATTEMPTS } from "./handler.ts";

/** The durations of jobs. */
export type JobTiming = {
  /** How long a claim holds a job without a renewal. */
  leaseSeconds: number;
  /** The pause before the second attempt. Each further pause is four times as long. */
  retrySeconds: number;
  /** A job that takes longer is given back. A fetch may take a minute, and a decoder twice half a minute. */
  maxJobMs: number;
  /**
   * The limit for a video of at most ten minutes of sound. It is rendered faster than it plays, but slower on a busy
   * machine.
   */
  maxVideoMs: number;
  /** How long running jobs may take to end when the worker stops. Then they are handed back. */
  stopMs: number;
};
export const JOB_TIMING: JobTiming = {
  leaseSeconds: 60,
  retrySeconds: 5,
  maxJobMs: 600_000,
  maxVideoMs: 3_600_000,
  stopMs: 5000,
};

/** How long a handler may take to end after its abort. A worker that stops does not wait longer. */
const ABORT_MS = 3000;
const DELAY_FACTOR = 4;

export type JobRunner = { db: Db; handlers: JobHandlers; log: Logger; random: RandomBytes; timing: JobTiming };

/** The reason for which a handler was aborted. */
type Reason = "lost" | "timed_out" | "stopping" | "crashed";

/**
 * The text of an error for the operator. The message of a foreign error can contain any text, so only its code is used.
 */
export const errorText = (error: unknown): string => {
  if (error instanceof StorageError) return error.message;
  if (error instanceof DatabaseError) return `The database failed (${error.code}).`;
  const { name = "unknown", code = null } = error instanceof Error ? (error as Error & { code?: string }) : {};
  return code === null ? `Error: ${name}.` : `Error: ${name} (${code}).`;
};

/**
 * Seconds until the next attempt, varied by half, so that jobs that failed at the same time are not all tried again at
 * the same time.
 */
const delaySeconds = (attempts: number, { retrySeconds }: JobTiming): number =>
  retrySeconds * DELAY_FACTOR ** (Math.min(attempts, MAX_ATTEMPTS) - 1) * (0.5 + Math.random());

/**
 * Renews the lease of a job after each third of its length, until `end` is called. Aborts `controller` when the lease
 * is lost or has passed.
 */
const keepLease = ({ db, log, timing }: JobRunner, job: ClaimedJob, controller: AbortController, at: number) => {
  const leaseMs = 1000 * timing.leaseSeconds;
  const lose = (): void => controller.abort("lost" satisfies Reason);
  // The lease at the database began after the statement was sent, or at the same time.
  let expiry = setTimeout(lose, at + leaseMs - performance.now());
  const renew = async (): Promise<boolean> => {
    const sentAt = performance.now();
    if (!(await renewJob(db, job, timing.leaseSeconds))) {
      lose();
      return false;
    }
    clearTimeout(expiry);
    if (!controller.signal.aborted) expiry = setTimeout(lose, sentAt + leaseMs - performance.now());
    return true;
  };
  const timer = setInterval(() => {
    renew().catch((error: unknown) => log.warn({ jobId: job.id, error: errorText(error) }, "failed to renew a lease"));
  }, leaseMs / 3);
  return {
    renew,
    end: (): void => {
      clearInterval(timer);
      clearTimeout(expiry);
    },
  };
};

/** Calls the handler of the job. After `signal` is aborted, waits for the handler at most `ABORT_MS`. */
const handle = (
  { handlers }: JobRunner,
  job: ClaimedJob,
  signal: AbortSignal,
  holdLease: () => Promise<boolean>,
): Promise<JobOutcome> => {
  const work = async (): Promise<JobOutcome> => handlers[job.kind](job, { signal, holdLease });
  const aborted = new Promise<JobOutcome>((resolve) => {
    signal.addEventListener("abort", async () => {
      await Bun.sleep(ABORT_MS);
      resolve({ kind: "retry", error: "It did not end when it was told to." });
    });
  });
  return Promise.race([
    work().catch((error: unknown): JobOutcome => ({ kind: "retry", error: errorText(error) })),
    aborted,
  ]);
};

type Retry = Extract<JobOutcome, { kind: "retry" }>;

/** Gives the job back after a failed attempt. `reason`: the reason of the abort, if it was aborted. */
const giveBack = async (
  runner: JobRunner,
  job: ClaimedJob,
  { error, isForced }: Retry,
  reason: Reason | null,
): Promise<JobResult> => {
  const { db, log, random, timing } = runner;
  const now = new Date();
  const origin = { actor: null, requestId: newRequestId(now, random), now, random };
  if (reason === "crashed") {
    await renewJob(db, job, 0);
    return "lost";
  }
  if (reason === "stopping") {
    const failure = { error: "The worker stopped.", delaySeconds: 0, maxAttempts: null };
    const result = await retryJob(db, job, failure, origin);
    return result === "retried" ? "handed_back" : result;
  }
  const text = reason === "timed_out" ? "It took too long." : error;
  const delay = isForced ? 0 : delaySeconds(job.attempts, timing);
  const result = await retryJob(db, job, { error: text, delaySeconds: delay, maxAttempts: MAX_ATTEMPTS }, origin);
  const fields = { ...descriptionOf(job), attempts: job.attempts, error: text };
  if (isForced) return result === "exhausted" ? "failed" : result;
  if (result === "exhausted") log.error(fields, "a job has failed for the last time");
  else if (result === "retried") log.warn(fields, "a job has failed; it is tried again");
  return result;
};

/** A job in the log. */
const descriptionOf = ({ id, kind, tenantId, targetId }: ClaimedJob) => ({
  jobId: id,
  kind,
  tenantId,
  target: targetId,
});

/**
 * Runs a job that was claimed by a statement sent at `claimedAt` (of `performance.now()`), and returns how it ended.
 * When `stopping` is aborted with the reason `stopping`, the job is handed back, so that another worker can take it at
 * once. With `crashed`, its lease ends at once, which counts as the death of a worker. Never rejects: if the failure
 * cannot be recorded, the lease runs out, and another worker takes the job.
 */
export const runJob = async (
  runner: JobRunner,
  job: ClaimedJob,
  claimedAt: number,
  stopping: AbortSignal,
): Promise<JobResult> => {
  const { log, timing } = runner;
  const controller = new AbortController();
  const { signal } = controller;
  const stop = (): void => controller.abort(stopping.reason);
  stopping.addEventListener("abort", stop);
  if (stopping.aborted) stop();
  const maxMs = job.kind === "render_video" ? timing.maxVideoMs : timing.maxJobMs;
  const limit = setTimeout(() => controller.abort("timed_out" satisfies Reason), maxMs);
  const lease = keepLease(runner, job, controller, claimedAt);
  try {
    // Each earlier attempt has failed, has ended its worker, or could not reach the database at its end.
    const outcome: JobOutcome =
      job.attempts > MAX_ATTEMPTS
        ? { kind: "retry", error: "No attempt has come to an end." }
        : await handle(runner, job, signal, lease.renew);
    if (outcome.kind !== "retry") return outcome.kind;
    const reason = signal.aborted ? (signal.reason as Reason) : null;
    if (reason === "lost") return "lost";
    return await giveBack(runner, job, outcome, reason);
  } catch (error) {
    log.warn(
      { ...descriptionOf(job), error: errorText(error) },
      "failed to give a job back; another worker takes it later",
    );
    return "lost";
  } finally {
    lease.end();
    clearTimeout(limit);
    stopping.removeEventListener("abort", stop);
  }
};
