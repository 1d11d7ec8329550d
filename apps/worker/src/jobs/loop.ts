/**
 * The job loop claims jobs and runs several at a time. Any number of workers may run it. A job that fails, or whose
 * handler throws, is tried again later. It never ends the worker.
 */
import type { Db } from "@realtime-avatar/db/connection/pool";
import { isOneOfSeveral, logFields } from "@realtime-avatar/db/connection/which-database";
import type { Databases } from "@realtime-avatar/db/databases/databases";
import { claimJob, claimJobBeside } from "@realtime-avatar/db/jobs/jobs";
import { JOB_KINDS, type JobKind } from "@realtime-avatar/domain/job";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import type { Tracing } from "@realtime-avatar/runtime/tracing";
import type { JobHandlers } from "./handler.ts";
import { errorText, type JobRunner, runJob } from "./run-job.ts";
import { createTurns } from "./turns.ts";

/**
 * The mean pause after a claim that found no job, varied by a quarter. A new job waits at most this long. Such a claim
 * reads one entry of an index.
 */
const IDLE_PAUSE_MS = 200;
/** The pause for each of several databases. It is longer, because there may be many. */
const IDLE_PAUSE_OF_SEVERAL_MS = 1000;
/** The mean pause after a claim that failed. */
const FAILED_PAUSE_MS = 1000;
/**
 * `CLAIM_OF_SEVERAL_MS`: how long a claim in one of several databases may take, because the others wait meanwhile.
 * `FAILED_PAUSE_OF_SEVERAL_MS`: the pause after a failed claim. A job that a failed claim has claimed runs when its
 * lease ends.
 */
const CLAIM_OF_SEVERAL_MS = 1000;
const FAILED_PAUSE_OF_SEVERAL_MS = 10_000;
/** While claims fail, one is logged each minute. */
const LOG_INTERVAL_MS = 60_000;
const LEASE_BYTES = 16;
const SHORT_KINDS = JOB_KINDS.filter((kind) => kind !== "render_video");

/**
 * The kinds that a worker claims beside the jobs that it runs. Videos take minutes, other jobs seconds. So a worker
 * that runs several jobs leaves one place to the other kinds.
 */
const kindsBeside = (running: Iterable<JobKind>, concurrency: number): readonly JobKind[] => {
  const videos = [...running].filter((kind) => kind === "render_video").length;
  return videos < Math.max(1, concurrency - 1) ? JOB_KINDS : SHORT_KINDS;
};

export type JobLoopOptions = Omit<JobRunner, "db" | "handlers"> & {
  databases: Databases;
  handlersOf(db: Db): JobHandlers;
  metrics: Metrics | null;
  tracing: Pick<Tracing, "record"> | null;
  /** How many jobs run at once. */
  concurrency: number;
  /**
   * Maximum number of concurrent jobs of one tenant in all workers together. Videos are counted separately, with the
   * same maximum.
   */
  slotsPerTenant: number;
};

export type JobLoop = {
  /**
   * Stops claiming, waits for the running jobs, and hands back those that take too long. `hasCrashed`: their leases run
   * out instead, as if the worker had died, because one of the jobs may be the reason.
   */
  stop(hasCrashed?: boolean): Promise<void>;
};

/** Starts to claim jobs. */
export const startJobLoop = (options: JobLoopOptions): JobLoop => {
  const { databases, log, random, metrics, tracing, concurrency, slotsPerTenant, timing, handlersOf } = options;
  const turns = createTurns(databases);
  const running = new Map<Promise<void>, JobKind>();
  const stopping = Promise.withResolvers<void>();
  const handBack = new AbortController();
  let isStopping = false;
  /** Whether the running job must run alone. */
  let isAlone = false;
  /** The database with a job that must run alone. The jobs of other databases must not prevent that. */
  let aloneIn: Db | null = null;
  let loggedAt = Number.NEGATIVE_INFINITY;

  /** Claims a job of a database and starts it. Returns the pause before the next claim in that database. */
  const claimOne = async (db: Db): Promise<number> => {
    const claimedAt = performance.now();
    const claimedTime = Date.now();
    const lease = Buffer.from(random(LEASE_BYTES)).toString("base64url");
    const kinds = kindsBeside(running.values(), concurrency);
    const claim = { lease, leaseSeconds: timing.leaseSeconds, slots: slotsPerTenant, kinds };
    const claiming = isOneOfSeveral(db) ? db.within(CLAIM_OF_SEVERAL_MS) : db;
    const job = await (running.size === 0 ? claimJob : claimJobBeside)(claiming, claim);
    // A job that must run alone waits until the other jobs have ended.
    if (job === "alone" && isOneOfSeveral(db)) aloneIn = db;
    if (job === null || job === "alone") return isOneOfSeveral(db) ? IDLE_PAUSE_OF_SEVERAL_MS : IDLE_PAUSE_MS;
    isAlone = job.runsAlone;
    const ended: Promise<void> = runJob(
      { ...options, db, handlers: handlersOf(db) },
      job,
      claimedAt,
      handBack.signal,
    ).then((outcome) => {
      metrics?.jobEnds({ kind: job.kind, outcome, durationMs: performance.now() - claimedAt });
      const attributes = { job_id: job.id, kind: job.kind, outcome, attempts: job.attempts };
      tracing?.record("job", claimedTime, attributes, outcome === "failed");
      log.debug({ jobId: job.id, kind: job.kind, outcome, attempts: job.attempts }, "a job has ended");
      running.delete(ended);
      // The end frees a slot of the tenant, whose next job may wait for it.
      turns.pause(db, 0);
    });
    running.set(ended, job.kind);
    return 0;
  };

  const run = async (): Promise<void> => {
    while (!isStopping) {
      const places = aloneIn !== null || isAlone ? 1 : concurrency;
      if (running.size >= places) {
        await Promise.race([...running.keys(), stopping.promise]);
        continue;
      }
      const turn = aloneIn === null ? turns.next() : { db: aloneIn };
      aloneIn = null;
      if (turn.db !== null) {
        const { db } = turn;
        const pauseMs = await claimOne(db).catch((error: unknown) => {
          if (performance.now() - loggedAt >= LOG_INTERVAL_MS) {
            loggedAt = performance.now();
            log.warn({ error: errorText(error), ...logFields(db) }, "failed to claim a job; retrying");
          }
          return isOneOfSeveral(db) ? FAILED_PAUSE_OF_SEVERAL_MS : FAILED_PAUSE_MS;
        });
        turns.pause(db, pauseMs * (0.75 + Math.random() / 2));
        continue;
      }
      await Promise.race([Bun.sleep(turn.pauseMs), ...running.keys(), stopping.promise]);
    }
  };
  const claiming = run();
  return {
    stop: async (hasCrashed = false) => {
      isStopping = true;
      stopping.resolve();
      await claiming;
      const timer = setTimeout(() => handBack.abort(hasCrashed ? "crashed" : "stopping"), timing.stopMs);
      await Promise.all(running.keys());
      clearTimeout(timer);
    },
  };
};
