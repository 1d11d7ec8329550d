/**
 * Prometheus metrics. Loaded only when metrics are configured: use `await import`. The labels have a bounded set of values:
 * route patterns, known methods, statuses and codes; never an id, an address or anything that a caller chooses.
 */
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Watcher } from "@realtime-avatar/db/connection/watcher";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { LogOutput } from "./log.ts";

/** A request whose response is complete. `route` is undefined when no route matched. */
export type Answered = {
  method: string;
  route: string | undefined;
  status: number;
  durationMs: number;
  problem?: string | undefined;
};

export type Metrics = {
  /** Receives the events of the database. */
  watcher: Watcher;
  /** Adds the metrics of a pool. */
  show(db: Pick<Db, "stats">): void;
  /** Adds the number of dropped log lines. */
  showLog(output: Pick<LogOutput, "dropped">): void;
  requestBegins(): void;
  requestEnds(answered: Answered): void;
  /** Serves `GET /metrics`. */
  fetch(request: Request): Promise<Response>;
  stop(): void;
};

const METHODS = new Set(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"]);
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const SIZES = [1, 2, 4, 8, 16, 32, 64];
/** Interval of the timer that measures the lag of the event loop. */
const LAG_TIMER_MS = 100;

/** Metric names follow OpenTelemetry's semantic conventions where they exist, and Prometheus' own clients. */
export const createMetrics = (version: string): Metrics => {
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string, collect: () => number): void => {
    new Gauge({
      name,
      help,
      registers,
      collect: function () {
        this.set(collect());
      },
    });
  };
  const requests = new Histogram({
    name: "http_server_request_duration_seconds",
    help: "Duration of requests.",
    labelNames: ["http_request_method", "http_route", "http_response_status_code"] as const,
    buckets: SECONDS,
    registers,
  });
  let active = 0;
  gauge("http_server_active_requests", "Requests in progress.", () => active);
  const problems = new Counter({
    name: "realtime_avatar_problems_total",
    help: "Responses that are problems, by code.",
    labelNames: ["code"] as const,
    registers,
  });
  const statements = new Histogram({
    name: "realtime_avatar_database_statement_duration_seconds",
    help: "Duration of database statements.",
    labelNames: ["outcome"] as const,
    buckets: SECONDS,
    registers,
  });
  const batches = new Histogram({
    name: "realtime_avatar_database_batch_size",
    help: "Number of inputs in one batch.",
    labelNames: ["kind"] as const,
    buckets: SIZES,
    registers,
  });
  const redone = new Counter({
    name: "realtime_avatar_database_batches_redone_total",
    help: "Batches that failed and were executed again one input at a time.",
    labelNames: ["kind"] as const,
    registers,
  });
  const lag = new Histogram({
    name: "realtime_avatar_event_loop_lag_seconds",
    help: `Delay of a timer of ${LAG_TIMER_MS} ms.`,
    buckets: SECONDS,
    registers,
  });
  let due = performance.now() + LAG_TIMER_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    lag.observe(Math.max(0, now - due) / 1000);
    due = now + LAG_TIMER_MS;
  }, LAG_TIMER_MS);

  // The standard process metrics that are correct on Bun. The library's default metrics are not.
  gauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss());
  gauge("process_start_time_seconds", "Start time of the process, since the epoch.", () =>
    Math.round(performance.timeOrigin / 1000),
  );
  const counter = (name: string, help: string, collect: () => number): void => {
    new Counter({
      name,
      help,
      registers,
      collect: function () {
        this.reset();
        this.inc(collect());
      },
    });
  };
  counter("process_cpu_seconds_total", "User and system processor time.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  new Gauge({ name: "realtime_avatar_build_info", help: "Always 1.", labelNames: ["version"], registers }).set(
    { version },
    1,
  );

  return {
    watcher: {
      statement: (milliseconds, outcome) => statements.observe({ outcome }, milliseconds / 1000),
      batch: (kind, size) => batches.observe({ kind }, size),
      batchRetry: (kind) => redone.inc({ kind }),
    },
    show: (db) => {
      const connections = new Gauge({
        name: "realtime_avatar_database_connections",
        help: "Database connections by state: open, busy and hanging ones among them, and the maximum.",
        labelNames: ["state"] as const,
        registers,
        collect() {
          for (const [state, count] of Object.entries(db.stats().connections)) connections.set({ state }, count);
        },
      });
      const waiting = new Gauge({
        name: "realtime_avatar_database_waiting",
        help: "Statements that wait for a connection, and inputs that wait for a batch.",
        labelNames: ["queue"] as const,
        registers,
        collect() {
          for (const [queue, count] of Object.entries(db.stats().waiting)) waiting.set({ queue }, count);
        },
      });
    },
    showLog: (output) =>
      counter(
        "realtime_avatar_log_lines_dropped_total",
        "Log lines dropped because their reader had stalled.",
        output.dropped,
      ),
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
    fetch: async ({ method, url }) => {
      if (new URL(url).pathname !== "/metrics") return new Response(null, { status: 404 });
      if (method !== "GET" && method !== "HEAD")
        return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
      return new Response(await registry.metrics(), { headers: { "content-type": registry.contentType } });
    },
    stop: () => clearInterval(timer),
  };
};
