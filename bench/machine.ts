/** Tools of the benchmark: processes, their processor time and memory, and load generators. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CannotMeasure, requirePrograms } from "./cannot-measure.ts";

export const ROOT = join(import.meta.dir, "..");

/** The median: for an even count, the mean of the two in the middle; 0 without numbers. */
export const median = (numbers: readonly number[]): number => {
  const sorted = numbers.toSorted((a, b) => a - b);
  const [low = 0, high = low] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return (low + high) / 2;
};

const children = new Set<Bun.Subprocess>();
// Runs also when the benchmark fails.
process.once("exit", () => {
  for (const child of children) child.kill();
});

export type Process = { url: string; pid: number; readyMs: number; end(): Promise<void> };

/** Starts a program that writes its address to the file `log`, and waits for the address. */
export const start = async (
  command: string[],
  log: string,
  variables: Record<string, string> = {},
): Promise<Process> => {
  const startedAt = performance.now();
  const child = Bun.spawn(command, {
    cwd: ROOT,
    env: { PATH: process.env["PATH"] ?? "", ...variables },
    stdout: Bun.file(log),
    stderr: "ignore",
  });
  children.add(child);
  for (;;) {
    const [, url] = /"url":"(http:[^"]+)"/.exec(await readFile(log, "utf8").catch(() => "")) ?? [];
    if (url) {
      const end = async (): Promise<void> => {
        child.kill("SIGTERM");
        await child.exited;
        children.delete(child);
      };
      return { url, pid: child.pid, readyMs: performance.now() - startedAt, end };
    }
    if (child.exitCode !== null) throw new Error(`${command.join(" ")} exited`);
    await Bun.sleep(2);
  }
};

/** The fields of /proc/<pid>/stat after the name; empty when the process is gone. */
const statOf = async (pid: number | string): Promise<string[]> => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return stat.split(") ")[1]?.split(" ") ?? [];
};
const seconds = (...ticks: (string | undefined)[]): number =>
  ticks.reduce((sum, text) => sum + Number(text ?? 0), 0) / 100;

/** Processor time of a process in seconds, with a resolution of 10 ms. */
export const readCpu = async (pid: number): Promise<number> => {
  const stat = await statOf(pid);
  return seconds(stat[11], stat[12]);
};

/** Processor time of a process and its children, including those that have exited, in seconds. */
export const cpuOfFamily = async (pid: number): Promise<number> => {
  const stat = await statOf(pid);
  let all = seconds(stat[11], stat[12], stat[13], stat[14]);
  for (const name of await readdir("/proc")) {
    const child = /^\d+$/.test(name) ? await statOf(name) : [];
    if (child[1] === String(pid)) all += seconds(child[11], child[12]);
  }
  return all;
};

export const residentMiB = async (pid: number): Promise<number> =>
  Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;

export type Request = {
  method: string;
  path: string;
  body: string | null;
  headers: Record<string, string>;
  /** Paths to use in turn instead of `path`. */
  paths?: readonly string[];
  /** Whether each path may be requested only once. */
  isEachPathOnce?: boolean;
  /** API keys to use in turn, each with the path at the same position. */
  apiKeys?: readonly string[];
  /** Bodies to use instead of `body`, each once. */
  bodies?: readonly string[];
};

const luaList = (texts: readonly string[]): string => `{'${texts.join("', '")}'}`;

/** A Lua script for wrk. `isClaimed`: each request has a new Idempotency-Key, so that none is a replay. */
const requestScript = ({ method, body, headers, paths, apiKeys, bodies }: Request, isClaimed: boolean): string => {
  const luaHeaders = [
    ...Object.entries(headers).map(([name, value]) => `["${name}"] = "${value}"`),
    ...(apiKeys ? [`["authorization"] = "Bearer " .. apiKeys[count % ${apiKeys.length} + 1]`] : []),
    ...(isClaimed ? ['["Idempotency-Key"] = run .. count'] : []),
  ].join(", ");
  return `local count, run = -1, "${crypto.randomUUID()}-"
    ${paths ? `local paths = ${luaList(paths)}` : ""}
    ${apiKeys ? `local apiKeys = ${luaList(apiKeys)}` : ""}
    ${bodies ? `local bodies = ${luaList(bodies)}` : ""}
    function request()
      count = count + 1
      local path = ${paths ? `paths[count % ${paths.length} + 1]` : "nil"}
      local body = ${bodies ? `bodies[count % ${bodies.length} + 1]` : body === null ? "nil" : `'${body}'`}
      return wrk.format("${method}", path, {${luaHeaders}}, body)
    end`;
};

/** Loads `url` with a Lua script. Returns the requests per second and the number of responses without success. */
export const wrkScript = async (
  folder: string,
  url: string,
  script: string,
  connections: number,
  seconds: number,
): Promise<{ rate: number; refused: number }> => {
  const path = join(folder, "wrk.lua");
  await Bun.write(path, script);
  const child = Bun.spawn(["wrk", "-t1", `-c${connections}`, `-d${seconds}s`, "-s", path, url], { stdout: "pipe" });
  const text = await new Response(child.stdout).text();
  return {
    rate: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1] ?? 0),
    refused: Number(/Non-2xx or 3xx responses: (\d+)/.exec(text)?.[1] ?? 0),
  };
};

/** Loads `url` with copies of a request. Returns the same as `wrkScript`. */
export const wrk = (
  folder: string,
  url: string,
  request: Request,
  connections: number,
  seconds: number,
  isClaimed = false,
): Promise<{ rate: number; refused: number }> =>
  wrkScript(folder, url + request.path, requestScript(request, isClaimed), connections, seconds);

/** How many seconds longer than the other contestants pgbench runs at most: its run includes the time to connect. */
const MAX_CONNECT_SECONDS = 16;

/** The environment and the options with which pgbench connects. */
const pgbenchAt = (databaseUrl: string, options: readonly string[]) => {
  requirePrograms("pgbench");
  const { hostname, port, password } = new URL(databaseUrl);
  return Bun.spawnSync(["pgbench", ...options, "-h", hostname, "-p", port, "-U", "postgres", "postgres"], {
    env: { PATH: process.env["PATH"] ?? "", PGPASSWORD: password },
  });
};

/** pgbench's own script, for which `prepareTpcb` creates the tables. */
export const TPCB = "tpcb-like";
export const prepareTpcb = (databaseUrl: string): unknown => pgbenchAt(databaseUrl, ["-i", "-q"]);

/** Runs a script with pgbench in prepared mode. Returns the transactions per second and their number. */
export const pgbench = async (
  folder: string,
  databaseUrl: string,
  script: string,
  connections: number,
  seconds: number,
): Promise<{ rate: number; count: number }> => {
  const path = join(folder, "pgbench.sql");
  await Bun.write(path, script);
  const which = script === TPCB ? ["-b", script] : ["-f", path];
  for (let connect = 1; ; connect *= 2) {
    const load = ["-n", "-M", "prepared", "-c", `${connections}`, "-j", "1", "-T", `${seconds + connect}`, ...which];
    const { stdout, stderr } = pgbenchAt(databaseUrl, load);
    const tps = /tps = ([\d.]+) \(without initial/.exec(stdout.toString())?.[1];
    const count = Number(/actually processed: (\d+)/.exec(stdout.toString())?.[1] ?? 0);
    if (stderr.includes("ERROR")) throw new CannotMeasure(`pgbench: ${stderr.toString().trim()}`);
    if (tps && count > 0) return { rate: Number(tps), count };
    if (connect >= MAX_CONNECT_SECONDS) throw new CannotMeasure(`pgbench could not connect: ${stderr}`);
  }
};

/** The quantile: this part of the values lies below it. */
export const percentile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? 0;

/**
 * When the generator is later than this, in milliseconds, and than half of the latency, the latency is that of the
 * generator.
 */
const MAX_LATE_MS = 2;
/** A generator that is this late, in milliseconds, stops. */
const HOPELESS_MS = 250;

/**
 * Throws when the generator determines the latencies, in milliseconds. `late`: the delay of each request after it was
 * due.
 */
export const checkGenerator = (times: readonly number[], late: readonly number[], rate: number): void => {
  const lateMs = percentile(late, 0.5);
  if (lateMs <= Math.max(MAX_LATE_MS, percentile(times, 0.5) / 2)) return;
  throw new CannotMeasure(
    `the generator was ${lateMs.toFixed(0)} ms late: it cannot send ${Math.round(rate)} requests a second`,
  );
};

/**
 * Sends `rate` requests per second without waiting for responses (an open loop). Requests due in the same millisecond
 * are sent together. A latency starts when the request was due, so that all waiting counts, including that of the
 * generator. A timer can fire up to a millisecond early; then the latency starts when the request was sent. Returns
 * percentiles in milliseconds. Throws when the generator is too slow, and when a request fails.
 */
export const openLoop = async (
  url: string,
  { method, path, body, headers }: Request,
  rate: number,
  seconds: number,
): Promise<Record<"p50" | "p99" | "p99.9", number>> => {
  const [times, late]: [number[], number[]] = [[], []];
  const failures: string[] = [];
  const pending = new Set<Promise<void>>();
  const send = async (dueAt: number): Promise<void> => {
    const sentAt = performance.now();
    late.push(sentAt - dueAt);
    const response = await fetch(url + path, { method, body, headers });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}`);
    times.push(performance.now() - Math.min(dueAt, sentAt));
  };
  const startedAt = performance.now();
  let sent = 0;
  let isHopeless = false;
  for (let tick = 1; tick <= seconds * 1000; tick++) {
    const dueAt = startedAt + tick;
    const waitMs = dueAt - performance.now();
    isHopeless = waitMs < -HOPELESS_MS;
    if (isHopeless) break;
    if (waitMs > 0) await Bun.sleep(waitMs);
    for (; sent < (rate * tick) / 1000; sent++) {
      const request = send(dueAt).catch((error: Error) => void failures.push(error.message));
      pending.add(request);
      request.finally(() => pending.delete(request));
    }
  }
  await Promise.all(pending);
  if (failures.length > 0) throw new CannotMeasure(`${failures.length} requests failed: ${failures[0]}`);
  if (isHopeless) throw new CannotMeasure(`the generator cannot send ${Math.round(rate)} requests a second`);
  checkGenerator(times, late, rate);
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99), "p99.9": percentile(times, 0.999) };
};
