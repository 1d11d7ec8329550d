/** Tools of the benchmark: processes, their processor time and memory, and load generators. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export const ROOT = join(import.meta.dir, "..");

export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;

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
  for (;;) {
    const [, url] = /"url":"(http:[^"]+)"/.exec(await readFile(log, "utf8").catch(() => "")) ?? [];
    if (url) {
      const end = async (): Promise<void> => {
        child.kill("SIGTERM");
        await child.exited;
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
export const cpuOf = async (pid: number): Promise<number> => {
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
  paths?: string[];
};

/** Loads `url` with wrk. Returns the requests per second and the number of responses without success. */
export const wrk = async (
  folder: string,
  url: string,
  { method, path, body, headers, paths }: Request,
  connections: number,
  seconds: number,
  idempotent = false,
): Promise<{ rate: number; refused: number }> => {
  const fixedHeaders = Object.entries(headers).map(([name, value]) => `["${name}"] = "${value}"`);
  // A new Idempotency-Key for each request, so that none is a replay.
  const luaHeaders = [...fixedHeaders, ...(idempotent ? ['["Idempotency-Key"] = run .. count'] : [])].join(", ");
  const luaPath = paths ? `({"${paths.join('", "')}"})[count % ${paths.length} + 1]` : "nil";
  const script = join(folder, `${Bun.hash(`${method}${luaHeaders}${body}${luaPath}`).toString(36)}.lua`);
  await Bun.write(
    script,
    `local count, run = 0, "${crypto.randomUUID()}-"
     function request()
       count = count + 1
       return wrk.format("${method}", ${luaPath}, {${luaHeaders}}, ${body === null ? "nil" : `'${body}'`})
     end`,
  );
  const child = Bun.spawn(["wrk", "-t1", `-c${connections}`, `-d${seconds}s`, "-s", script, url + path], {
    stdout: "pipe",
  });
  const text = await new Response(child.stdout).text();
  return {
    rate: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1] ?? 0),
    refused: Number(/Non-2xx or 3xx responses: (\d+)/.exec(text)?.[1] ?? 0),
  };
};

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
  const { hostname, port, password } = new URL(databaseUrl);
  // Longer than the other contestants, because the run includes the time to connect.
  const load = ["-n", "-M", "prepared", "-c", `${connections}`, "-j", "1", "-T", `${seconds + 4}`, "-f", path];
  const { stdout, stderr } = Bun.spawnSync(
    ["pgbench", ...load, "-h", hostname, "-p", port, "-U", "postgres", "postgres"],
    { env: { PATH: process.env["PATH"] ?? "", PGPASSWORD: password } },
  );
  const tps = /tps = ([\d.]+) \(without initial/.exec(stdout.toString())?.[1];
  const count = /actually processed: (\d+)/.exec(stdout.toString())?.[1];
  if (!tps || !count) throw new Error(stderr.toString());
  return { rate: Number(tps), count: Number(count) };
};

/**
 * Sends `rate` requests per second without waiting for responses (an open loop). Requests due in the same millisecond are
 * sent together. A latency starts when the request was due, so that all waiting counts, including that of the generator, or
 * when it was sent if that is earlier, since a timer can fire up to a millisecond early. Returns percentiles in milliseconds.
 */
export const openLoop = async (
  url: string,
  { method, path, body, headers }: Request,
  rate: number,
  seconds: number,
): Promise<Record<"p50" | "p99" | "p99.9", number>> => {
  const times: number[] = [];
  const pending = new Set<Promise<void>>();
  const send = async (dueAt: number): Promise<void> => {
    const startTime = Math.min(dueAt, performance.now());
    const response = await fetch(url + path, { method, body, headers });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}`);
    times.push(performance.now() - startTime);
  };
  const startedAt = performance.now();
  let sent = 0;
  for (let tick = 1; tick <= seconds * 1000; tick++) {
    const dueAt = startedAt + tick;
    const waitMs = dueAt - performance.now();
    if (waitMs > 0) await Bun.sleep(waitMs);
    for (; sent < (rate * tick) / 1000; sent++) {
      const request = send(dueAt);
      pending.add(request);
      request.finally(() => pending.delete(request));
    }
  }
  await Promise.all(pending);
  times.sort((a, b) => a - b);
  const percentile = (fraction: number): number =>
    times[Math.min(times.length - 1, Math.floor(times.length * fraction))] ?? 0;
  return { p50: percentile(0.5), p99: percentile(0.99), "p99.9": percentile(0.999) };
};
