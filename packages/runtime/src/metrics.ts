/**
 * Prometheus metrics. Loaded only when metrics are configured: use `await import`. The labels have a bounded set of values:
 * route patterns, known methods, statuses and codes; never an id, an address or anything that a caller chooses.
 */
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Watcher } from "@realtime-avatar/db/connection/watcher";
import type { SweepStats } from "@realtime-avatar/db/credits/sweeper";
import type { LogOutput } from "./log.ts";
import { cachedReads } from "./metrics/cached-reads.ts";
import { type CallMetrics, callMetrics } from "./metrics/calls.ts";
import { type RecordingMetrics, recordingMetrics } from "./metrics/recordings.ts";
import { createRegistry, type OwnRegistry, SECONDS, type ServedMetrics, served } from "./metrics/registry.ts";
import { type WebhookMetrics, webhookMetrics } from "./metrics/webhooks.ts";

/** A request whose response is complete. `route` is undefined when no route matched. */
export type CompletedRequest = {
  method: string;
  route: string | undefined;
  status: number;
  durationMs: number;
  problem?: string | undefined;
};

/**
 * The limit that refused a session: the cap of the key itself, the cap of an ancestor, the balance of the tenant, or the number
 * of open sessions.
 */
export type SessionLimit = "self" | "ancestor" | "balance" | "sessions";

/**
 * How a job ended. `ready` and `failed`: its target has that status. `gone`: the target was deleted meanwhile, or the
 * job was replaced. `waiting`: its input has not arrived yet. `retried`: another attempt follows. `exhausted`: the last
 * attempt failed. `handed_back`: the worker stopped. `lost`: it belongs to another worker.
 */
export type JobOutcome = "ready" | "failed" | "gone" | "waiting" | "retried" | "exhausted" | "handed_back" | "lost";

/** A job that has ended in this process. */
export type EndedJob = { kind: string; outcome: JobOutcome; durationMs: number };

/** The queue of jobs in the database. */
export type QueueStats = {
  queued: number;
  running: number;
  /** Seconds since the oldest queued job became due. */
  oldestSeconds: number;
};

export type Metrics = ServedMetrics &
  CallMetrics &
  RecordingMetrics &
  WebhookMetrics & {
    /** Receives the events of the database. */
    watcher: Watcher;
    /** Adds the metrics of a pool. */
    show(db: Pick<Db, "stats">): void;
    /** Adds the number of dropped log lines. */
    showLog(output: Pick<LogOutput, "dropped">): void;
    requestBegins(): void;
    requestEnds(request: CompletedRequest): void;
    /** A session was opened. Replays do not count. */
    sessionHeld(): void;
    /** Counts sessions that requests have closed: one by default. A repeated release does not count. */
    sessionSettled(count?: number): void;
    /** A session was refused. */
    sessionRefused(limit: SessionLimit): void;
    /** A file was received and stored. */
    assetUploaded(kind: string, sizeBytes: number): void;
    /** An upload was refused, with the code of this problem. */
    assetRefused(problem: string): void;
    /** Adds the metrics of a sweeper. */
    showSweeper(stats: () => SweepStats): void;
    /** Adds the metrics of the queue of jobs. `read` asks the database; it is called at most once in ten seconds. */
    showQueue(read: () => Promise<QueueStats>): void;
    jobEnds(job: EndedJob): void;
    /** Files that a sweep has removed. */
    filesSwept(count: number): void;
  };

const METHODS = new Set(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"]);
const JOB_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300];
const SIZES = [1, 2, 4, 8, 16, 32, 64];

const UNKNOWN_QUEUE: QueueStats = { queued: Number.NaN, running: Number.NaN, oldestSeconds: Number.NaN };

const sessionMetrics = ({
  counter,
}: OwnRegistry): Pick<Metrics, "sessionHeld" | "sessionSettled" | "sessionRefused"> => {
  const held = counter("realtime_avatar_sessions_held_total", "Usage sessions that were opened.", []);
  const settled = counter("realtime_avatar_sessions_settled_total", "Usage sessions that requests have closed.", []);
  const refused = counter("realtime_avatar_sessions_refused_total", "Usage sessions that a limit refused.", ["limit"]);
  return {
    sessionHeld: () => held.inc(),
    sessionSettled: (count = 1) => settled.inc(count),
    sessionRefused: (limit) => refused.inc({ limit }),
  };
};

const jobMetrics = ({
  histogram,
  counter,
  readGauge,
  readGauges,
}: OwnRegistry): Pick<Metrics, "showQueue" | "jobEnds" | "filesSwept"> => {
  const jobs = histogram("realtime_avatar_job_duration_seconds", "Duration of jobs.", JOB_SECONDS, ["kind", "outcome"]);
  const swept = counter("realtime_avatar_files_swept_total", "Stored files that a sweep has removed.", []);
  return {
    showQueue: (read) => {
      const cached = cachedReads(read, UNKNOWN_QUEUE);
      readGauges("realtime_avatar_jobs", "Jobs that wait and jobs that run, in all workers.", "state", async () => {
        const { queued, running } = await cached();
        return { queued, running };
      });
      const age = "Waiting time of the oldest job, among the tenants that no worker serves.";
      readGauge("realtime_avatar_oldest_job_seconds", age, async () => (await cached()).oldestSeconds);
    },
    jobEnds: ({ kind, outcome, durationMs }) => jobs.observe({ kind, outcome }, durationMs / 1000),
    filesSwept: (count) => swept.inc(count),
  };
};

/** The metrics of uploads by a form. */
const uploadMetrics = ({ counter }: OwnRegistry): Pick<Metrics, "assetUploaded" | "assetRefused"> => {
  const uploads = counter("realtime_avatar_asset_uploads_total", "Files that were received and stored.", ["kind"]);
  const bytes = counter("realtime_avatar_asset_upload_bytes_total", "Bytes of files that were received and stored.", [
    "kind",
  ]);
  const refused = counter("realtime_avatar_asset_uploads_refused_total", "Uploads that were refused.", ["code"]);
  return {
    assetUploaded: (kind, sizeBytes) => {
      uploads.inc({ kind });
      bytes.inc({ kind }, sizeBytes);
    },
    assetRefused: (code) => refused.inc({ code }),
  };
};

/** Metric names follow OpenTelemetry's semantic conventions where they exist, and Prometheus' own clients. */
export const createMetrics = (version: string): Metrics => {
  const own = createRegistry();
  const { histogram, counter, readCounter, readGauge, readGauges } = own;
  const requests = histogram("http_server_request_duration_seconds", "Duration of requests.", SECONDS, [
    "http_request_method",
    "http_route",
    "http_response_status_code",
  ]);
  let active = 0;
  readGauge("http_server_active_requests", "Requests in progress.", () => active);
  const problems = counter("realtime_avatar_problems_total", "Responses that are problems, by code.", ["code"]);
  const statementSeconds = "realtime_avatar_database_statement_duration_seconds";
  const statements = histogram(statementSeconds, "Duration of database statements.", SECONDS, ["statement", "outcome"]);
  const batches = histogram("realtime_avatar_database_batch_size", "Number of inputs in one batch.", SIZES, ["kind"]);
  const batchRetries = counter(
    "realtime_avatar_database_batches_redone_total",
    "Batches that failed and were executed again one input at a time.",
    ["kind"],
  );
  return {
    watcher: {
      statement: (statement, milliseconds, outcome) => statements.observe({ statement, outcome }, milliseconds / 1000),
      batch: (kind, size) => batches.observe({ kind }, size),
      batchRetry: (kind) => batchRetries.inc({ kind }),
    },
    show: (db) => {
      const connections =
        "Database connections by state: open (including busy and hanging), busy, hanging, and maximum.";
      readGauges("realtime_avatar_database_connections", connections, "state", () => db.stats().connections);
      const waiting = "Statements that wait for a connection, and inputs that wait for a batch.";
      readGauges("realtime_avatar_database_waiting", waiting, "queue", () => db.stats().waiting);
    },
    showLog: ({ dropped }) => {
      const help = "Log lines dropped because their reader had stalled.";
      readCounter("realtime_avatar_log_lines_dropped_total", help, dropped);
    },
    requestBegins: () => {
      active++;
    },
    requestEnds: ({ method, route, status, durationMs, problem }) => {
      active--;
      const labels = {
        http_request_method: METHODS.has(method) ? method : "_OTHER",
        http_route: route ?? "none",
        http_response_status_code: status,
      };
      requests.observe(labels, durationMs / 1000);
      if (problem !== undefined) problems.inc({ code: problem });
    },
    ...sessionMetrics(own),
    ...jobMetrics(own),
    ...uploadMetrics(own),
    ...callMetrics(own),
    ...webhookMetrics(own),
    ...recordingMetrics(own),
    showSweeper: (stats) => {
      const swept = "Overdue usage sessions that this process has closed.";
      readCounter("realtime_avatar_sessions_swept_total", swept, () => stats().swept);
      const sweepLag = "Upper bound of the time for which the oldest overdue usage session has been overdue.";
      readGauge("realtime_avatar_session_sweep_lag_seconds", sweepLag, () => stats().lagSeconds);
    },
    ...served(own, version),
  };
};
