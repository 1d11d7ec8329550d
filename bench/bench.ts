/**
 * How fast the service is, beside what bounds it: `bun run bench`. Starts a PostgreSQL of its own with its default
 * durability and each contestant as a process, loads them over real HTTP with wrk, one after another in several rounds,
 * and prints medians and ratios. Needs wrk; with pgbench it measures the database's own limit as well. `--write` puts the
 * table, its JSON and a chart into docs/.
 */
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openEmbedded } from "@realtime-avatar/db/embedded";
import { migrate } from "@realtime-avatar/db/migrate";
import { connect } from "@realtime-avatar/db/pool";
import { createFirstKey } from "../apps/api/src/first-run.ts";
import { secureRandom } from "../apps/api/src/random.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "1,8,32,128" },
    only: { type: "string", default: "" },
    avatars: { type: "string", default: "100000" },
    write: { type: "boolean", default: false },
  },
});
const SECONDS = Number(options.seconds);
const ROUNDS = Number(options.rounds);
const CONNECTIONS = options.connections.split(",").map(Number);
const ROOT = join(import.meta.dir, "..");

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;

const WRK = Bun.which("wrk");
if (!WRK) throw new Error("wrk is needed: apt-get install wrk");
const PGBENCH = Bun.which("pgbench");

const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-bench-"));
await chmod(folder, 0o755);
const database = await openEmbedded(join(folder, "data"), { settings: { max_connections: "300" } });
await migrate(database.url);
const db = connect(database.url, { deadlineMs: 600_000 });
const secret = await createFirstKey(db, new Date(), secureRandom);
const key = secret?.reveal() ?? "";
const [{ tenantId = "" } = {}] = await db.run<{ tenantId: string }>('select tenant_id as "tenantId" from tenants', []);
// A tenant that has many already, so that lists and indexes are as large as in earnest.
await db.run(
  `
  insert into avatars select '${tenantId}', 'ava_01h455vb4p' || lpad(i::text, 16, '0'), 'live', 'Ada', 'image', 'm', 'draft',
    null, null, null, 0, '{}', '{"team": "support"}', 1, now(), now() from generate_series(1, ${Number(options.avatars)}) i`,
  [],
);
await db.run("vacuum analyze", []);

type Process = { url: string; pid: number; readyMs: number; end(): Promise<void> };
const start = async (command: string[], variables: Record<string, string> = {}): Promise<Process> => {
  const startedAt = performance.now();
  const log = join(folder, `${command.at(-1)?.replace(/\W/g, "")}.log`);
  const child = Bun.spawn(command, {
    cwd: ROOT,
    env: { PATH: process.env["PATH"] ?? "", ...variables },
    stdout: Bun.file(log),
    stderr: "ignore",
  });
  for (;;) {
    const [, url] = /"url":"(http:[^"]+)"/.exec(await readFile(log, "utf8").catch(() => "")) ?? [];
    if (url) {
      const readyMs = performance.now() - startedAt;
      return {
        url,
        pid: child.pid,
        readyMs,
        end: async () => {
          child.kill("SIGTERM");
          await child.exited;
        },
      };
    }
    if (child.exitCode !== null) throw new Error(`${command.join(" ")} ended`);
    await Bun.sleep(2);
  }
};

const build = Bun.spawnSync([process.execPath, "run", "build"], { cwd: ROOT });
if (build.exitCode !== 0) throw new Error("the build failed");
const service = await start([process.execPath, "apps/api/dist/main.js"], { PORT: "0", DATABASE_URL: database.url });
const above = await start([process.execPath, "bench/contestants.ts", "above"]);
const first = await start([process.execPath, "bench/contestants.ts", "first", database.url]);

/** Processor time that a process has used, in seconds. */
const cpuOf = async (pid: number): Promise<number> => {
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
};
const residentMiB = async (pid: number): Promise<number> =>
  Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;

const BODY = JSON.stringify({ displayName: "Ada", sourceKind: "image", metadata: { team: "support" } });
const scripts = new Map<string, string>();
const scriptOf = async (method: string, body: string | null, apiKey: string): Promise<string> => {
  const text = [
    `wrk.method = "${method}"`,
    `wrk.headers["Authorization"] = "Bearer ${apiKey}"`,
    ...(body === null ? [] : [`wrk.headers["Content-Type"] = "application/json"`, `wrk.body = '${body}'`]),
  ].join("\n");
  const path = scripts.get(text) ?? join(folder, `script-${scripts.size}.lua`);
  scripts.set(text, path);
  await writeFile(path, text);
  return path;
};

type Run = (connections: number) => Promise<number>;
/** Requests in a second. Answers that are no success stop the benchmark, unless they are what is measured. */
const wrk =
  (url: string, method: string, path: string, body: string | null, apiKey = key, isRefused = false): Run =>
  async (connections) => {
    const script = await scriptOf(method, body, apiKey);
    const args = ["-t1", `-c${connections}`, `-d${SECONDS}s`, "-s", script, url + path];
    const { stdout } = Bun.spawnSync([WRK, ...args]);
    const text = stdout.toString();
    if (/Non-2xx/.test(text) !== isRefused) {
      const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
      const answer = await fetch(url + path, { method, body, headers });
      throw new Error(`${method} ${path} is answered with ${answer.status} ${await answer.text()}`);
    }
    return Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1] ?? 0);
  };

/** The same row, under an id that grows with time, as those of the service do. */
const INSERT = `insert into avatars values ('${tenantId}',
  'ava_0' || lpad(to_hex((extract(epoch from clock_timestamp()) * 1e6)::bigint), 14, '0') || left(replace(gen_random_uuid()::text, '-', ''), 11),
  'live', 'Ada', 'image', 'm', 'draft', null, null, null, 0, '{}', '{"team": "support"}', 1, now(), now());`.replaceAll(
  "\n",
  " ",
);
const pgbench: Run = async (connections) => {
  const path = join(folder, "insert.sql");
  await writeFile(path, INSERT);
  const { hostname, port, password } = new URL(database.url);
  const args = [
    "-n",
    "-M",
    "prepared",
    "-c",
    `${connections}`,
    "-j",
    "1",
    "-T",
    // Its connections count, and take their time: longer than the others.
    `${SECONDS + 4}`,
    "-f",
    path,
    "-h",
    hostname,
    "-p",
    port,
    "-U",
    "postgres",
    "postgres",
  ];
  const { stdout, stderr } = Bun.spawnSync([PGBENCH ?? "", ...args], { env: { PGPASSWORD: password } });
  const tps = /tps = ([\d.]+)/.exec(stdout.toString())?.[1];
  if (!tps) throw new Error(stderr.toString());
  return Number(tps);
};

const [avatar] = await db.run<{ id: string }>("select id from avatars limit 1", []);
/** Of the right form, with a wrong checksum. */
const wrong = key.replace(/_[^_]{16}_/, "_0000000000000000_");
const contestants: Record<string, Run> = {
  ...(PGBENCH ? { "below: pgbench, one-row insert": pgbench } : {}),
  "above: Elysia, no database": wrk(above.url, "POST", "/api/v1/avatars", BODY),
  "first: one SELECT, one INSERT": wrk(first.url, "POST", "/api/v1/avatars", BODY),
  "POST /avatars": wrk(service.url, "POST", "/api/v1/avatars", BODY),
  "POST /api-keys": wrk(service.url, "POST", "/api/v1/api-keys", '{"name": "x", "scopes": ["*"]}'),
  "GET /avatars/{id}": wrk(service.url, "GET", `/api/v1/avatars/${avatar?.id}`, null),
  "GET /avatars": wrk(service.url, "GET", "/api/v1/avatars", null),
  "GET /api-keys/self": wrk(service.url, "GET", "/api/v1/api-keys/self", null),
  "refused: bad checksum": wrk(service.url, "GET", "/api/v1/api-keys/self", null, wrong, true),
};
const names = Object.keys(contestants).filter((name) => name.includes(options.only));

const restMiB = await residentMiB(service.pid);
const rates = new Map<string, number[]>();
const nameOf = (name: string, connections: number): string => `${name}|${connections}`;
let cpu = { service: 0, requests: 0 };
for (let round = 0; round < ROUNDS; round++) {
  for (const connections of CONNECTIONS) {
    for (const name of names) {
      const before = await cpuOf(service.pid);
      const rate = await (contestants[name] as Run)(connections);
      if (name === "POST /avatars" && connections === 32) {
        cpu = { service: cpu.service + (await cpuOf(service.pid)) - before, requests: cpu.requests + rate * SECONDS };
      }
      rates.set(nameOf(name, connections), [...(rates.get(nameOf(name, connections)) ?? []), rate]);
    }
  }
  say(`round ${round + 1} of ${ROUNDS}`);
}
const loadedMiB = await residentMiB(service.pid);

const rateOf = (name: string, connections: number): number => median(rates.get(nameOf(name, connections)) ?? []);
const spreadOf = (name: string, connections: number): number => {
  const all = rates.get(nameOf(name, connections)) ?? [];
  return Math.round(((Math.max(...all) - Math.min(...all)) / 2 / (median(all) || 1)) * 100);
};
const head = [
  "requests/s",
  ...CONNECTIONS.map((connections) => `${connections} ${connections === 1 ? "connection" : "connections"}`),
];
const cell = (name: string, connections: number): string =>
  `${Math.round(rateOf(name, connections)).toLocaleString("en-US")} ±${spreadOf(name, connections)} %`;
const lines = names.map((name) => [name, ...CONNECTIONS.map((connections) => cell(name, connections))]);
const ratio = (of: string, to: string): string[] => [
  `${of} / ${to.split(":")[0]}`,
  ...CONNECTIONS.map((connections) => (rateOf(of, connections) / rateOf(to, connections)).toFixed(2)),
];
const has = (name: string): boolean => names.includes(name);
const ratios = (
  [
    ["POST /avatars", "below: pgbench, one-row insert"],
    ["POST /avatars", "first: one SELECT, one INSERT"],
    ["POST /avatars", "above: Elysia, no database"],
    ["GET /api-keys/self", "above: Elysia, no database"],
    ["refused: bad checksum", "above: Elysia, no database"],
  ] as const
)
  .filter(([of, to]) => has(of) && has(to))
  .map(([of, to]) => ratio(of, to));
const markdown = (rows: readonly string[][]): string =>
  [rows[0], (rows[0] ?? []).map(() => "---"), ...rows.slice(1)]
    .map((row) => `| ${(row ?? []).join(" | ")} |`)
    .join("\n");
const extras = [
  ["resident memory of the service at rest", `${restMiB.toFixed(0)} MiB`],
  ["and under load", `${loadedMiB.toFixed(0)} MiB`],
  ["ready after its start, on a database that is there", `${service.readyMs.toFixed(0)} ms`],
  [
    "processor time of the service for one POST /avatars at 32 connections",
    `${((cpu.service / cpu.requests) * 1e6).toFixed(0)} µs`,
  ],
];
const report = [
  markdown([head, ...lines]),
  markdown([["ratio", ...head.slice(1)], ...ratios]),
  markdown([["beside", "figure"], ...extras]),
].join("\n\n");
say(`\n${report}`);

/** Bars of each contestant at 32 connections. */
const chart = (): string => {
  const at = CONNECTIONS.includes(32) ? 32 : (CONNECTIONS.at(-1) ?? 1);
  const most = Math.max(...names.map((name) => rateOf(name, at)));
  const bars = names.map((name, index) => {
    const rate = rateOf(name, at);
    const [y, width] = [index * 28 + 34, Math.round((rate / most) * 380)];
    return `<text x="230" y="${y + 14}" text-anchor="end">${name.replaceAll("&", "&amp;")}</text><rect x="240" y="${y}" width="${width}" height="20" fill="#4c78a8"/><text x="${246 + width}" y="${y + 14}">${Math.round(rate).toLocaleString("en-US")}</text>`;
  });
  const height = names.length * 28 + 44;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="720" height="${height}" font-family="sans-serif" font-size="12"><title>Requests per second at ${at} connections</title><rect width="720" height="${height}" fill="#fff"/><text x="240" y="20">requests per second at ${at} connections</text>${bars.join("")}</svg>\n`;
};
if (options.write) {
  const measured = {
    date: new Date().toISOString().slice(0, 10),
    seconds: SECONDS,
    rounds: ROUNDS,
    avatars: Number(options.avatars),
    rates: Object.fromEntries(rates),
    extras: Object.fromEntries(extras),
  };
  await writeFile(join(ROOT, "docs/performance.json"), `${JSON.stringify(measured, null, 2)}\n`);
  await writeFile(join(ROOT, "docs/performance.svg"), chart());
  const page = join(ROOT, "docs/performance.md");
  const text = await readFile(page, "utf8");
  await writeFile(page, text.replace(/(<!-- measured -->\n)[\s\S]*?(\n<!-- end -->)/, `$1\n${report}\n$2`));
}

for (const process of [service, above, first]) await process.end();
await db.close();
await database.close();
await rm(folder, { recursive: true });
