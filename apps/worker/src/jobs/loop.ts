/**
 * The job loop claims jobs and runs several at a time. Any number of workers may run it. A job that fails, or whose
 * handler throws, is tried again later. It never ends the worker.
 */
import type { Db } from "@realtime-avatar/db/connection/pool";
import { isOneOfSeveral, logFields } from "@realtime-avatar/db/connection/which-database";
import type { Databases } from "@realtime-avatar/db/databases/databases";
import { type ClaimedJob, claimJob, claimJobBeside } from "@realtime-avatar/db/jobs/jobs";
import { JOB_KINDS, type JobKind } from "@realtime-avatar/domain/job";
import { limitedWarnings } from "@realtime-avatar/runtime/log";
import type { JobOutcome, Metrics } from "@realtime-avatar/runtime/metrics";
import { pause } from "@realtime-avatar/runtime/pause";
import type { Tracing } from "@realtime-avatar/runtime/tracing";
import type { UntilDue } from "./due-work.ts";
import type { JobHandlers } from "./handler.ts";
import { errorText, type JobRunner, runJob } from "./run-job.ts";
import { createTurns, LONGEST_PAUSE_MS } from "./turns.ts";
import { createWaking } from "./waking.ts";

/** The mean pause after a claim that failed. */
const FAILED_PAUSE_MS = 1000;
/**
 * `CLAIM_OF_SEVERAL_MS`: how long a claim in one of several databases may take, because the others wait meanwhile.
 * `FAILED_PAUSE_OF_SEVERAL_MS`: the pause after a failed claim. A job that a failed claim has claimed runs when its
 * lease ends.
 */
const CLAIM_OF_SEVERAL_MS = 1000;
const FAILED_PAUSE_OF_SEVERAL_MS = 10_000;
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
  untilDueIn(db: Db): UntilDue;
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

/** Shows the end of a job in the metrics, the traces and the log. */
const observe = (
  { metrics, tracing, log }: JobLoopOptions,
  { id, kind, attempts }: ClaimedJob,
  outcome: JobOutcome,
  durationMs: number,
): void => {
  metrics?.jobEnds({ kind, outcome, durationMs });
  tracing?.record("job", Date.now() - durationMs, { job_id: id, kind, outcome, attempts }, outcome === "failed");
  log.debug({ jobId: id, kind, outcome, attempts }, "a job has ended");
};

/** Starts to claim jobs. */
export const startJobLoop = (options: JobLoopOptions): JobLoop => {
  const { databases, log, random, concurrency, slotsPerTenant, timing, handlersOf, untilDueIn } = options;
  const turns = createTurns(databases);
  const running = new Map<Promise<void>, JobKind>();
  const stopping = new AbortController();
  const handBack = new AbortController();
  const { wake, wait } = createWaking();
  /** Whether the running job must run alone. */
  let isAlone = false;
  /** The database with a job that must run alone. The jobs of other databases must not prevent that. */
  let aloneIn: Db | null = null;
  const warn = limitedWarnings(log);

  /** Claims a job of a database and starts it. */
  const claimOne = async (db: Db): Promise<void> => {
    const claimedAt = performance.now();
    const lease = Buffer.from(random(LEASE_BYTES)).toString("base64url");
    const kinds = kindsBeside(running.values(), concurrency);
    const claim = { lease, leaseSeconds: timing.leaseSeconds, slots: slotsPerTenant, kinds };
    const claiming = isOneOfSeveral(db) ? db.within(CLAIM_OF_SEVERAL_MS) : db;
    const job = await (running.size === 0 ? claimJob : claimJobBeside)(claiming, claim);
    // A job that must run alone waits until the other jobs have ended.
    if (job === "alone" && isOneOfSeveral(db)) aloneIn = db;
    if (job === null || job === "alone") {
      void turns.skipUntil(db, () => untilDueIn(db)(stopping.signal)).then(wake);
      return;
    }
    isAlone = job.runsAlone;
    const ended: Promise<void> = runJob(
      { ...options, db, handlers: handlersOf(db) },
      job,
      claimedAt,
      handBack.signal,
    ).then((outcome) => {
      observe(options, job, outcome, performance.now() - claimedAt);
      running.delete(ended);
      // The end frees a slot of the tenant, whose next job may wait for it.
      turns.pause(db, 0);
      wake();
    });
    running.set(ended, job.kind);
  };

  const claimNext = async (db: Db): Promise<void> => {
    try {
      await claimOne(db);
    } catch (error) {
      warn("failed to claim a job; retrying", { error: errorText(error), ...logFields(db) });
      const pauseMs = isOneOfSeveral(db) ? FAILED_PAUSE_OF_SEVERAL_MS : FAILED_PAUSE_MS;
      turns.pause(db, pauseMs * (0.75 + Math.random() / 2));
    }
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const places = aloneIn !== null || isAlone ? 1 : concurrency;
      if (running.size >= places) {
        await wait((signal) => pause(LONGEST_PAUSE_MS, signal));
        continue;
      }
      const turn = aloneIn === null ? turns.next() : { db: aloneIn };
      aloneIn = null;
      if (turn.db === null) await wait((signal) => pause(turn.pauseMs, signal));
      else await claimNext(turn.db);
    }
  };
  const claiming = run();
  return {
    stop: async (hasCrashed = false) => {
      stopping.abort();
      wake();
      await claiming;
      const timer = setTimeout(() => handBack.abort(hasCrashed ? "crashed" : "stopping"), timing.stopMs);
      await Promise.all(running.keys());
      clearTimeout(timer);
    },
  };
};
