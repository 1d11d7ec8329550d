/** Shared by the metrics of all programs. Runs on Node too. Loaded only when metrics are configured. */
import { Counter, Gauge, Histogram, Registry } from "prom-client";

export const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Interval of the timer that measures the lag of the event loop. */
const LAG_TIMER_MS = 100;

/** A registry, and functions that add metrics to it. `read` is called when the metrics are collected. */
export const createRegistry = () => {
  const registry = new Registry();
  const registers = [registry];
  return {
    registry,
    histogram: <Label extends string = never>(
      name: string,
      help: string,
      buckets: number[],
      labelNames: Label[] = [],
    ) => new Histogram({ name, help, buckets, labelNames, registers }),
    counter: <Label extends string>(name: string, help: string, labelNames: Label[]) =>
      new Counter({ name, help, labelNames, registers }),
    /** A counter whose total another module counts. */
    readCounter: (name: string, help: string, read: () => number) =>
      new Counter({
        name,
        help,
        registers,
        collect() {
          this.reset();
          this.inc(read());
        },
      }),
    readGauge: (name: string, help: string, read: () => number | Promise<number>) =>
      new Gauge({
        name,
        help,
        registers,
        async collect() {
          this.set(await read());
        },
      }),
    /** A gauge with one label. `read` returns the number for each value of the label. */
    readGauges: (
      name: string,
      help: string,
      label: string,
      read: () => Record<string, number> | Promise<Record<string, number>>,
    ) =>
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        async collect() {
          for (const [value, count] of Object.entries(await read())) this.set({ [label]: value }, count);
        },
      }),
  };
};

/** Observes, in `histogram`, the delay of a timer: the lag of the event loop. Returns a function that stops the timer. */
const observeLag = (histogram: Histogram): (() => void) => {
  let due = performance.now() + LAG_TIMER_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    histogram.observe(Math.max(0, now - due) / 1000);
    due = now + LAG_TIMER_MS;
  }, LAG_TIMER_MS);
  return () => clearInterval(timer);
};

export type OwnRegistry = ReturnType<typeof createRegistry>;

export type ServedMetrics = {
  /** Serves `GET /metrics`. */
  fetch(request: Request): Promise<Response>;
  stop(): void;
};

/** Adds the metrics of a process. Metric names follow OpenTelemetry's semantic conventions, and Prometheus' own clients. */
export const served = (
  { registry, histogram, readGauge, readGauges, readCounter }: OwnRegistry,
  version: string,
): ServedMetrics => {
  const lag = histogram("realtime_avatar_event_loop_lag_seconds", `Delay of a timer of ${LAG_TIMER_MS} ms.`, SECONDS);
  // The standard process metrics that are correct on Bun. The library's default metrics are not.
  readGauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss());
  const startSeconds = Math.round(performance.timeOrigin / 1000);
  readGauge("process_start_time_seconds", "Start time of the process, since the epoch.", () => startSeconds);
  readCounter("process_cpu_seconds_total", "User and system processor time.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  readGauges("realtime_avatar_build_info", "Always 1.", "version", () => ({ [version]: 1 }));

  return {
    fetch: async ({ method, url }) => {
      if (new URL(url).pathname !== "/metrics") return new Response(null, { status: 404 });
      if (method !== "GET" && method !== "HEAD")
        return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
      return new Response(await registry.metrics(), { headers: { "content-type": registry.contentType } });
    },
    stop: observeLag(lag),
  };
};
