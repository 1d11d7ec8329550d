/** What the benchmark needs of the machine: processes and what they use, and tools that load them. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export const ROOT = join(import.meta.dir, "..");

export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;

export type Process = { url: string; pid: number; readyMs: number; end(): Promise<void> };

/** Starts a program that logs its address into the file `log`, and waits until it has. */
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
    if (child.exitCode !== null) throw new Error(`${command.join(" ")} ended`);
    await Bun.sleep(2);
  }
};

/** The fields of /proc/<pid>/stat behind the name; none when the process is gone. */
const statOf = async (pid: number | string): Promise<string[]> => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return stat.split(") ")[1]?.split(" ") ?? [];
};
const seconds = (...ticks: (string | undefined)[]): number =>
  ticks.reduce((sum, text) => sum + Number(text ?? 0), 0) / 100;

/** Processor time that a process has used, in seconds, at hundredths of one. */
export const cpuOf = async (pid: number): Promise<number> => {
  const stat = await statOf(pid);
  return seconds(stat[11], stat[12]);
};

/** The same of a process with all its children, those that have ended included. */
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
  /** Paths that take turns, instead of the one. */
  paths?: string[];
};

/** Loads `url` with wrk; answers with the requests in a second, and with how many were answered by no success. */
export const wrk = async (
  folder: string,
  url: string,
  { method, path, body, headers, paths }: Request,
  connections: number,
  seconds: number,
  idempotent = false,
): Promise<{ rate: number; refused: number }> => {
  const all = Object.entries(headers).map(([name, value]) => `["${name}"] = "${value}"`);
  // A new key for each request: what it claims has to be written.
  const made = [...all, ...(idempotent ? ['["Idempotency-Key"] = run .. count'] : [])].join(", ");
  const turns = paths ? `({"${paths.join('", "')}"})[count % ${paths.length} + 1]` : "nil";
  const script = join(folder, `${Bun.hash(`${method}${made}${body}${turns}`).toString(36)}.lua`);
  await Bun.write(
    script,
    `local count, run = 0, "${crypto.randomUUID()}-"
     function request()
       count = count + 1
       return wrk.format("${method}", ${turns}, {${made}}, ${body === null ? "nil" : `'${body}'`})
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

/** Runs a script with pgbench, prepared; answers with the transactions in a second, and with how many there were. */
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
  // Its connections count, and take their time: longer than the others.
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
 * Sends `rate` requests in each second, whether earlier ones have been answered or not (an open loop): those that are due
 * in a millisecond go together. A request's time begins when it was due, so that waiting counts, ours too; or when it was
 * sent, since a timer may fire up to a millisecond early. Answers with percentiles, in milliseconds.
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
    const beganAt = Math.min(dueAt, performance.now());
    const answer = await fetch(url + path, { method, body, headers });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${method} ${path} is answered with ${answer.status}`);
    times.push(performance.now() - beganAt);
  };
  const startedAt = performance.now();
  let sent = 0;
  for (let tick = 1; tick <= seconds * 1000; tick++) {
    const dueAt = startedAt + tick;
    const early = dueAt - performance.now();
    if (early > 0) await Bun.sleep(early);
    for (; sent < (rate * tick) / 1000; sent++) {
      const request = send(dueAt);
      pending.add(request);
      request.finally(() => pending.delete(request));
    }
  }
  await Promise.all(pending);
  times.sort((a, b) => a - b);
  const at = (part: number): number => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), "p99.9": at(0.999) };
};
