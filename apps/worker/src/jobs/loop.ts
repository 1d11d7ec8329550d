/**
 * The job loop: claims jobs and runs some at a time. Any number of workers may run it. A job that fails, or whose handler
 * throws, is tried again later and never ends the worker.
 */
import { claimJob, claimJobBeside } from "@realtime-avatar/db/jobs/jobs";
import { JOB_KINDS } from "@realtime-avatar/domain/job";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import type { Tracing } from "@realtime-avatar/runtime/tracing";
import { errorText, type JobRunner, runJob } from "./run-job.ts";

/**
 * The mean pause after a claim that found nothing, spread by half of it: what a new job waits for. Such a claim reads one entry
 * of an index.
 */
const IDLE_PAUSE_MS = 200;
/** The mean pause after a claim that failed. */
const FAILED_PAUSE_MS = 1000;
/** While claims fail, one is logged each minute. */
const LOG_INTERVAL_MS = 60_000;
const LEASE_BYTES = 16;

export type JobLoopOptions = JobRunner & {
  metrics: Metrics | null;
  tracing: Pick<Tracing, "record"> | null;
  /** How many jobs run at once. */
  concurrency: number;
  /** How many jobs of one tenant run at once, in all workers together. */
  slotsPerTenant: number;
};

export type JobLoop = {
  /**
   * Claims nothing more, waits for the jobs that run, and hands back those that take too long. `hasCrashed`: their leases run
   * out instead, as if the worker had died, because one of them may be the reason.
   */
  stop(hasCrashed?: boolean): Promise<void>;
};

/** Starts to claim jobs. */
export const startJobLoop = (options: JobLoopOptions): JobLoop => {
  const { db, log, random, metrics, tracing, concurrency, slotsPerTenant, timing } = options;
  const running = new Set<Promise<void>>();
  const stopping = Promise.withResolvers<void>();
  const handBack = new AbortController();
  let isStopping = false;
  /** Whether the job that runs must run alone. */
  let isAlone = false;
  let loggedAt = Number.NEGATIVE_INFINITY;

  /** Claims a job and starts it. Returns the pause before the next claim. */
  const claimOne = async (): Promise<number> => {
    const claimedAt = performance.now();
    const claimedTime = Date.now();
    const lease = Buffer.from(random(LEASE_BYTES)).toString("base64url");
    const claim = { lease, leaseSeconds: timing.leaseSeconds, slots: slotsPerTenant, kinds: JOB_KINDS };
    const job = await (running.size === 0 ? claimJob : claimJobBeside)(db, claim);
    // For a job that must run alone, the others are left to end.
    if (job === null || job === "alone") return IDLE_PAUSE_MS;
    isAlone = job.runsAlone;
    const ended: Promise<void> = runJob(options, job, claimedAt, handBack.signal).then((outcome) => {
      metrics?.jobEnds({ kind: job.kind, outcome, durationMs: performance.now() - claimedAt });
      const attributes = { job_id: job.id, kind: job.kind, outcome, attempts: job.attempts };
      tracing?.record("job", claimedTime, attributes, outcome === "failed");
      log.debug({ jobId: job.id, kind: job.kind, outcome, attempts: job.attempts }, "a job has ended");
      running.delete(ended);
    });
    running.add(ended);
    return 0;
  };

  const run = async (): Promise<void> => {
    while (!isStopping) {
      if (running.size >= (isAlone ? 1 : concurrency)) {
        await Promise.race([...running, stopping.promise]);
        continue;
      }
      const pauseMs = await claimOne().catch((error: unknown) => {
        if (performance.now() - loggedAt >= LOG_INTERVAL_MS) {
          loggedAt = performance.now();
          log.warn({ error: errorText(error) }, "failed to claim a job; retrying");
        }
        return FAILED_PAUSE_MS;
      });
      if (pauseMs === 0) continue;
      // A job that ends frees a place of its tenant, whose next job may wait for that.
      await Promise.race([Bun.sleep(pauseMs * (0.75 + Math.random() / 2)), ...running, stopping.promise]);
    }
  };
  const claiming = run();
  return {
    stop: async (hasCrashed = false) => {
      isStopping = true;
      stopping.resolve();
      await claiming;
      const timer = setTimeout(() => handBack.abort(hasCrashed ? "crashed" : "stopping"), timing.stopMs);
      await Promise.all(running);
      clearTimeout(timer);
    },
  };
};
