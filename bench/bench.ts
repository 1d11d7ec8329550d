/**
 * Benchmark of the service and of the limits of its parts: `bun run bench`. Starts a PostgreSQL with default durability and
 * each contestant as a process. Loads them over HTTP, one after another in several rounds. Prints medians, ratios, latency,
 * processor time, statements and memory. Requires wrk; with pgbench it also measures the limit of the database. `--write`
 * writes the tables, their JSON and a chart to docs/. The other options change the size and the duration.
 */
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { connect, type Db } from "@realtime-avatar/db/connection/pool";
import { openByTcp } from "@realtime-avatar/db/embedded-testing";
import { migrate } from "@realtime-avatar/db/migrate";
import { insertAvatar } from "@realtime-avatar/db/statements/avatars";
import { findCredential } from "@realtime-avatar/db/statements/callers";
import { generateApiKey, parseApiKey } from "@realtime-avatar/domain/api-key-secret";
import { newAvatar } from "@realtime-avatar/domain/avatar";
import { newId } from "@realtime-avatar/domain/id";
import { createFirstKey } from "../apps/api/src/first-run.ts";
import { secureRandom } from "../apps/api/src/random.ts";
import {
  cpuOf,
  cpuOfFamily,
  median,
  openLoop,
  pgbench,
  type Request,
  ROOT,
  residentMiB,
  start,
  wrk,
} from "./machine.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "3" },
    "warm-up": { type: "string", default: "6" },
    connections: { type: "string", default: "1,8,32,128" },
    only: { type: "string", default: "" },
    /** Initial number of avatars; then the sizes of the table to measure, and the final number of keys. */
    avatars: { type: "string", default: "100000" },
    sizes: { type: "string", default: "1000,100000,5000000" },
    keys: { type: "string", default: "1000000" },
    /** Number of requests before the last measurement of memory. */
    requests: { type: "string", default: "1000000" },
    write: { type: "boolean", default: false },
  },
});
const numbersOf = (text: string): number[] => text.split(",").filter(Boolean).map(Number);
const [SECONDS, ROUNDS, WARM_UP] = [options.seconds, options.rounds, options["warm-up"]].map(Number) as [
  number,
  number,
  number,
];
const CONNECTIONS = numbersOf(options.connections);
/** The number of connections for measurements that use only one. */
const TYPICAL = CONNECTIONS.includes(32) ? 32 : (CONNECTIONS.at(-1) ?? 32);

const print = (text: string): void => void process.stdout.write(`${text}\n`);
if (!Bun.which("wrk")) throw new Error("wrk is required: apt-get install wrk");
const hasPgbench = Bun.which("pgbench") !== null;

const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-bench-"));
await chmod(folder, 0o755);
const database = await openByTcp(join(folder, "data"), {
  settings: {
    max_connections: "300",
    shared_preload_libraries: "pg_stat_statements",
  },
});
const postmaster = Number((await readFile(join(folder, "data/postgres/postmaster.pid"), "utf8")).split("\n")[0]);
await migrate(database.url);
const db = connect(database.url, { deadlineMs: 3_600_000, connections: 2 });
await db.run("create extension pg_stat_statements", []);
const trackStatements = async (which: "none" | "top"): Promise<void> => {
  await db.run(`alter system set pg_stat_statements.track = '${which}'`, []);
  await db.run("select pg_reload_conf()", []);
};
await trackStatements("none");
const secret = await createFirstKey(db, new Date(), secureRandom);
const key = secret?.reveal() ?? "";
const [{ tenantId = "" } = {}] = await db.run<{ tenantId: string }>('select tenant_id as "tenantId" from tenants', []);

let seeded = 0;
/** Adds avatars until the tenant has `count` seeded ones. */
const seedAvatars = async (count: number): Promise<void> => {
  for (; seeded < count; seeded = Math.min(count, seeded + 500_000)) {
    await db.run(
      `insert into avatars select '${tenantId}', 'ava_01h455vb4p' || lpad(i::text, 16, '0'), 'live', 'Ada', 'image', 'm',
        'draft', null, null, null, 0, '{}', '{"team": "support"}', 1, now(), now()
        from generate_series(${seeded + 1}, ${Math.min(count, seeded + 500_000)}) i`,
      [],
    );
  }
  await db.run("vacuum analyze", []);
  await db.run("checkpoint", []);
};
/** Adds `count` keys and `count` audit events to the tenant. */
const seedOthers = async (count: number): Promise<void> => {
  await db.run(
    `insert into api_keys select tenant_id, 'key_01h455vb4q' || lpad(i::text, 16, '0'), lpad(i::text, 16, 'a'), 'live', 'n', '{*}',
      null, null, null, array[id], 1, now() from api_keys, generate_series(1, ${count}) i where name = 'First key'`,
    [],
  );
  await db.run(
    `insert into audit_events select tenant_id, 'aud_01h455vb4q' || lpad(i::text, 16, '0'), 'live', id, key_id, 'avatar.created',
      'ava_01h455vb4p' || lpad(i::text, 16, '0'), 'req_01h455vb4p' || lpad(i::text, 16, '0'), now()
      from api_keys, generate_series(1, ${count}) i where name = 'First key'`,
    [],
  );
};
/** Adds `count` keys with credentials. */
const seedKeys = async (count: number): Promise<void> => {
  await db.run(
    `insert into api_keys select '${tenantId}', 'key_01h455vb4p' || lpad(i::text, 16, '0'), lpad(i::text, 16, '0'), 'live',
      'n', '{*}', null, null, null, '{}', 1, now() from generate_series(1, ${count}) i`,
    [],
  );
  await db.run(
    `insert into api_key_credentials select key_id, tenant_id, id, sha256(key_id::bytea), null, now() from api_keys
      where id like 'key_01h455vb4p%'`,
    [],
  );
};

const build = Bun.spawnSync([process.execPath, "run", "build"], { cwd: ROOT });
if (build.exitCode !== 0) throw new Error("The build failed.");
const startService = (log = "service.log", variables: Record<string, string> = {}) =>
  start([process.execPath, "apps/api/dist/main.js"], join(folder, log), {
    PORT: "0",
    DATABASE_URL: database.url,
    MAX_ACTIVE_KEYS_PER_TENANT: "1000000",
    ...variables,
  });
const startUps: number[] = [];
for (let attempt = 0; attempt < 5; attempt++) {
  await rm(join(folder, "service.log"), { force: true });
  const process = await startService();
  startUps.push(process.readyMs);
  await process.end();
}
await rm(join(folder, "service.log"), { force: true });
const service = await startService();
const above = await start([process.execPath, "bench/contestants.ts", "above"], join(folder, "above.log"));
const first = await start([process.execPath, "bench/contestants.ts", "first", database.url], join(folder, "first.log"));
const lists = await start([process.execPath, "bench/contestants.ts", "lists", database.url], join(folder, "lists.log"));
/** The same service with metrics, and with metrics and traces; `sink` discards the traces. */
const sink = await start([process.execPath, "bench/contestants.ts", "sink"], join(folder, "sink.log"));
const METERED = { METRICS_PORT: "0" };
const metered = await startService("metered.log", METERED);
const traced = await startService("traced.log", { ...METERED, OTEL_EXPORTER_OTLP_ENDPOINT: sink.url });
const restMiB = await residentMiB(service.pid);

/** A `Db` that runs each input as its own batch and records every statement in `recorded`. */
const recordingDb = (recorded: { text: string; parameters: readonly unknown[] }[]): Db => {
  const recorder: Db = {
    ...db,
    run: (text, parameters) => {
      recorded.push({ text, parameters });
      return db.run(text, parameters);
    },
    batch: async (kind, input) => (await kind.run(recorder, [input]))[0] as never,
  };
  return recorder;
};

/** An SQL expression for an id that increases with time like those of the service; pgbench evaluates it for each row. */
const freshId = (prefix: string): string =>
  `'${prefix}_0' || lpad(to_hex((extract(epoch from clock_timestamp()) * 1e6)::bigint), 14, '0') || left(replace(gen_random_uuid()::text, '-', ''), 11)`;
const literal = (value: unknown): string => {
  if (value === null || value === undefined) return "null";
  if (value instanceof Date) return `'${value.toISOString()}'`;
  if (Array.isArray(value)) return `'{${value.join(",")}}'`;
  const text = String(value);
  const [, prefix] = /^(ava|aud)_/.exec(text) ?? [];
  return prefix ? `(${freshId(prefix)})` : `'${text.replaceAll("'", "''")}'`;
};
/** A pgbench script with exactly the statements that `work` executes. */
const scriptOf = async (work: (db: Db) => Promise<unknown>): Promise<string> => {
  const recorded: { text: string; parameters: readonly unknown[] }[] = [];
  await work(recordingDb(recorded));
  return recorded
    .map(({ text, parameters }) => text.replace(/\$(\d+)/g, (_, number) => literal(parameters[Number(number) - 1])))
    .map((text) => `${text.replace(/\s+/g, " ")};\n`)
    .join("");
};
const createOne = async (to: Db): Promise<void> => {
  const credential = await findCredential(to, parseApiKey(key)?.keyId ?? "");
  if (!credential) throw new Error("The benchmark's API key does not exist.");
  const { caller } = credential;
  const now = new Date();
  const context = { ...caller, id: newId("ava", now, secureRandom), defaultModelId: "m", now };
  const avatar = newAvatar({ displayName: "Ada", sourceKind: "image", metadata: { team: "support" } }, context);
  await insertAvatar(to, avatar, caller, { actor: caller, requestId: context.id.slice(4), now, random: secureRandom });
};
await seedAvatars(Number(options.avatars));
// Some keys and audit events to list.
await seedOthers(1000);
const ownStatements = await scriptOf(createOne);
const insertRow = `insert into avatars values ('${tenantId}', ${freshId("ava")}, 'live', 'Ada', 'image', 'm', 'draft', null, null, null, 0, '{}', '{"team": "support"}', 1, now(), now());`;

type Contestant = {
  name: string;
  url?: string;
  request?: Request;
  /** Whether every response is expected to be an error. */
  isRefused?: boolean;
  /** Whether each request has its own Idempotency-Key. */
  isClaimed?: boolean;
  pid?: number;
  script?: string;
};
const apiRequest = (method: string, path: string, body: object | null = null, apiKey = key): Request => ({
  method,
  path: `/api/v1${path}`,
  body: body === null ? null : JSON.stringify(body),
  headers: {
    authorization: `Bearer ${apiKey}`,
    ...(body === null ? {} : { "content-type": "application/json" }),
  },
});
const AVATAR = { displayName: "Ada", sourceKind: "image", metadata: { team: "support" } };
const CREATE = apiRequest("POST", "/avatars", AVATAR);
const at = ({ url, pid }: { url: string; pid: number }) => ({ url, pid });
const [avatar] = await db.run<{ id: string }>("select id from avatars limit 1", []);
/** A well-formed key with a wrong checksum, and a valid key that does not exist in the database. */
const wrong = key.replace(/_[^_]{16}_/, "_0000000000000000_");
const unknown = generateApiKey("live", secureRandom).reveal();
/** The lists, and different pages of avatars with 34 to 66 items, so that 32 concurrent requests share no page. */
const LISTS = ["/avatars", "/api-keys", "/audit-events"];
const DIFFERENT_PAGES = Array.from({ length: 33 }, (_, index) => `/api/v1/avatars?limit=${34 + ((index * 16) % 33)}`);
const BELOW = "below: pgbench, one-row insert";
const OWN = "the database alone: pgbench, the service's own two statements";
const contestants: Contestant[] = [
  ...(hasPgbench
    ? [
        { name: BELOW, script: insertRow },
        { name: OWN, script: ownStatements },
      ]
    : []),
  { name: "above: Elysia, no database", ...at(above), request: CREATE },
  { name: "first: one SELECT, one INSERT", ...at(first), request: CREATE },
  { name: "POST /avatars", ...at(service), request: CREATE },
  { name: "POST /avatars, with metrics", ...at(metered), request: CREATE },
  { name: "POST /avatars, with metrics and traces", ...at(traced), request: CREATE },
  { name: "POST /avatars, Idempotency-Key", ...at(service), request: CREATE, isClaimed: true },
  { name: "POST /api-keys", ...at(service), request: apiRequest("POST", "/api-keys", { name: "x", scopes: ["*"] }) },
  { name: "GET /avatars/{id}", ...at(service), request: apiRequest("GET", `/avatars/${avatar?.id}`) },
  ...LISTS.flatMap((path) => [
    { name: `first: GET ${path}`, ...at(lists), request: apiRequest("GET", path) },
    { name: `GET ${path}`, ...at(service), request: apiRequest("GET", path) },
  ]),
  {
    name: "GET /avatars, pages that differ",
    ...at(service),
    request: { ...apiRequest("GET", "/avatars"), paths: DIFFERENT_PAGES },
  },
  { name: "GET /api-keys/self", ...at(service), request: apiRequest("GET", "/api-keys/self") },
  {
    name: "refused: bad checksum",
    ...at(service),
    request: apiRequest("GET", "/api-keys/self", null, wrong),
    isRefused: true,
  },
  {
    name: "refused: unknown key",
    ...at(service),
    request: apiRequest("GET", "/api-keys/self", null, unknown),
    isRefused: true,
  },
].filter(({ name }) => name.includes(options.only));

/** Returns the requests per second and their number. Throws on unexpected errors, or if expected errors are missing. */
const load = async (
  contestant: Contestant,
  connections: number,
  seconds: number,
): Promise<{ rate: number; count: number }> => {
  const { name, url = "", request, script, isRefused = false, isClaimed = false } = contestant;
  if (script) return pgbench(folder, database.url, script, connections, seconds);
  const { rate, refused } = await wrk(folder, url, request as Request, connections, seconds, isClaimed);
  if (refused > 0 !== isRefused) throw new Error(`${name} returned unexpected statuses`);
  return { rate, count: rate * seconds };
};

type Figures = { rate: number; serviceCpu: number; databaseCpu: number };
const measured = new Map<string, Figures[]>();
const measurementKey = (name: string, connections: number): string => `${name}|${connections}`;
/** Marks the keys that a load has created as ended: the quota counts a tenant's active keys for each one that is created. */
const endCreatedKeys = (): Promise<unknown> =>
  db.run("update api_keys set ended_at = now() where ended_at is null and cardinality(lineage) > 0", []);

/** Loads a contestant. Stores its rate, and the processor time per request of its process and of the database. */
const measure = async (contestant: Contestant, connections: number, label = contestant.name): Promise<void> => {
  const { pid } = contestant;
  if (contestant.name.startsWith("POST /api-keys")) await endCreatedKeys();
  const cpu = async () => ({
    service: pid === undefined ? 0 : await cpuOf(pid),
    database: await cpuOfFamily(postmaster),
  });
  const before = await cpu();
  const { rate, count } = await load(contestant, connections, SECONDS);
  const after = await cpu();
  const figures = {
    rate,
    serviceCpu: (after.service - before.service) / count,
    databaseCpu: (after.database - before.database) / count,
  };
  const name = measurementKey(label, connections);
  measured.set(name, [...(measured.get(name) ?? []), figures]);
};
const figureOf = (name: string, connections: number, figure: keyof Figures): number =>
  median((measured.get(measurementKey(name, connections)) ?? []).map((figures) => figures[figure]));
const rateOf = (name: string, connections: number): number => figureOf(name, connections, "rate");

for (const contestant of contestants) if (!contestant.script) await load(contestant, 64, WARM_UP);
for (let round = 0; round < ROUNDS; round++) {
  for (const connections of CONNECTIONS) {
    for (const contestant of contestants) await measure(contestant, connections);
  }
  print(`round ${round + 1} of ${ROUNDS}`);
}
const loadedMiB = await residentMiB(service.pid);

/** Latencies in an open loop at half of the peak rate. */
const latencies: [string, number, Awaited<ReturnType<typeof openLoop>>][] = [];
for (const { name, url, request, isRefused, isClaimed } of contestants) {
  // `above` is included to show how the generator and the machine alone affect the tail latencies.
  if ((url !== service.url && url !== above.url) || !request || isRefused || isClaimed) continue;
  const peak = Math.max(...CONNECTIONS.map((connections) => rateOf(name, connections)));
  latencies.push([name, peak / 2, await openLoop(url, request, peak / 2, Math.max(5, SECONDS * 2))]);
}
print("latencies");

/** The number of statements since the last call, except those of background work. */
const countStatements = async (): Promise<number> => {
  const [{ calls = 0 } = {}] = await db.run<{ calls: number }>(
    `select coalesce(sum(calls), 0)::integer as calls from pg_stat_statements
      where query like '%tenant_id%' and query not like '%api_key_usage (%'`,
    [],
  );
  await db.run("select pg_stat_statements_reset()", []);
  return calls;
};
await trackStatements("top");
await Bun.sleep(500);
const statements: [string, number, number][] = [];
for (const contestant of contestants) {
  const { name, url, request } = contestant;
  if (!request || (url !== service.url && url !== first.url && url !== lists.url)) continue;
  await countStatements();
  for (let sent = 0; sent < 200; sent++) await (await fetch(url + request.path, request)).arrayBuffer();
  const alone = (await countStatements()) / 200;
  const { count } = await load(contestant, TYPICAL, 1);
  statements.push([name, alone, (await countStatements()) / count]);
}
await trackStatements("none");
print("statements");

/** Memory over the number of requests, of all kinds. */
const memory: [number, number][] = [];
const mixed = contestants.filter(({ url }) => url === service.url);
let requestCount = 0;
while (mixed.length > 0 && requestCount < Number(options.requests)) {
  for (const contestant of mixed) requestCount += (await load(contestant, 64, 2)).count;
  memory.push([requestCount, await residentMiB(service.pid)]);
}
print("memory");

/** Rates for different table sizes. */
const sized: [string, Map<string, number>][] = [];
const measureAll = async (label: string): Promise<void> => {
  const rates = new Map<string, number>();
  for (const contestant of contestants.filter(({ url, isRefused }) => url === service.url && !isRefused)) {
    await load(contestant, TYPICAL, 1);
    for (let round = 0; round < ROUNDS; round++) await measure(contestant, TYPICAL, `${label} ${contestant.name}`);
    rates.set(contestant.name, rateOf(`${label} ${contestant.name}`, TYPICAL));
  }
  sized.push([label, rates]);
};
if (numbersOf(options.sizes).length > 0) {
  // Remove the avatars of the rounds; their audit events stay.
  await db.run("delete from avatars", []);
  await db.run("vacuum full avatars", []);
  seeded = 0;
  for (const size of numbersOf(options.sizes)) {
    await seedAvatars(size);
    await measureAll(`${size.toLocaleString("en-US")} avatars`);
    print(`${size} avatars`);
  }
  await seedKeys(Number(options.keys));
  await db.run("vacuum analyze", []);
  await measureAll(`and ${Number(options.keys).toLocaleString("en-US")} keys`);
}

const number = (value: number): string => Math.round(value).toLocaleString("en-US");
const spreadOf = (name: string, connections: number): number => {
  const rates = (measured.get(measurementKey(name, connections)) ?? []).map(({ rate }) => rate);
  return Math.round(((Math.max(...rates) - Math.min(...rates)) / 2 / (median(rates) || 1)) * 100);
};
const micros = (seconds: number): string => `${number(seconds * 1e6)} µs`;
const names = contestants.map(({ name }) => name);
const has = (name: string): boolean => names.includes(name);
const heads = CONNECTIONS.map((connections) => `${connections} ${connections === 1 ? "connection" : "connections"}`);
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, index) => (index === 0 ? "---" : "---:")), ...rows]
    .map((row) => `| ${row.join(" | ")} |`)
    .join("\n");
const ratios = (
  [
    ["POST /avatars", BELOW],
    ["POST /avatars", "first: one SELECT, one INSERT"],
    ["POST /avatars", "above: Elysia, no database"],
    ["POST /avatars, with metrics", "POST /avatars"],
    ["POST /avatars, with metrics and traces", "POST /avatars"],
    ["GET /avatars", "first: GET /avatars"],
    ["GET /api-keys", "first: GET /api-keys"],
    ["GET /audit-events", "first: GET /audit-events"],
    ["GET /avatars, pages that differ", "first: GET /avatars"],
    ["GET /api-keys/self", "above: Elysia, no database"],
    ["refused: bad checksum", "above: Elysia, no database"],
  ] as const
).filter(([one, other]) => has(one) && has(other));
const single = (name: string): string => `${(1000 / rateOf(name, 1)).toFixed(2)} ms`;
const sections = [
  "Requests per second: median of the rounds, and half of their range:",
  table(
    ["requests/s", ...heads],
    names.map((name) => [
      name,
      ...CONNECTIONS.map((connections) => `${number(rateOf(name, connections))} ±${spreadOf(name, connections)} %`),
    ]),
  ),
  table(
    ["ratio", ...heads],
    ratios.map(([one, other]) => [
      `${one} / ${other.split(":")[0]}`,
      ...CONNECTIONS.map((connections) => (rateOf(one, connections) / rateOf(other, connections)).toFixed(2)),
    ]),
  ),
  "Latency at half of the peak rate, in an open loop: requests are sent without waiting for earlier responses.",
  table(
    ["half of the peak", "requests/s", "p50", "p99", "p99.9", "p99 / p50"],
    latencies.map(([name, rate, { p50, p99, "p99.9": p999 }]) => [
      name,
      number(rate),
      ...[p50, p99, p999].map((milliseconds) => `${milliseconds.toFixed(1)} ms`),
      (p99 / p50).toFixed(1),
    ]),
  ),
  `Processor time per request, of the process and of the database, at ${TYPICAL} connections; and statements per request, each a round trip to the database, for sequential requests and at ${TYPICAL} connections:`,
  table(
    ["per request", "process", "database", "statements, sequential", `statements at ${TYPICAL}`],
    contestants.map(({ name, script }) => {
      const [, alone, many] = statements.find(([of]) => of === name) ?? [];
      return [
        name,
        script ? "" : micros(figureOf(name, TYPICAL, "serviceCpu")),
        micros(figureOf(name, TYPICAL, "databaseCpu")),
        alone?.toFixed(2) ?? "",
        many?.toFixed(2) ?? "",
      ];
    }),
  ),
  ...(sized.length === 0
    ? []
    : [
        `Requests per second at ${TYPICAL} connections, by table size (${number(Number(options.avatars))} avatars in the tables above):`,
        table(
          ["requests/s", ...sized.map(([label]) => label)],
          [...(sized[0]?.[1].keys() ?? [])].map((name) => [
            name,
            ...sized.map(([, rates]) => number(rates.get(name) ?? 0)),
          ]),
        ),
      ]),
  table(
    ["other measurement", "value"],
    [
      ...(CONNECTIONS.includes(1) && has(OWN) && has("POST /avatars")
        ? [
            ["POST /avatars at 1 connection", single("POST /avatars")],
            ["its two statements at 1 connection, with pgbench", single(OWN)],
            ["one-row insert at 1 connection, with pgbench", single(BELOW)],
          ]
        : []),
      ["resident memory at rest", `${number(restMiB)} MiB`],
      ["after the rounds", `${number(loadedMiB)} MiB`],
      ...memory
        .filter((_, index) => index === 0 || index === memory.length - 1)
        .map(([count, mebibytes]) => [
          `after ${number(count)} more requests of every kind`,
          `${number(mebibytes)} MiB`,
        ]),
      ["start to ready, with a running database (median of 5)", `${number(median(startUps))} ms`],
    ],
  ),
];
const report = sections.join("\n\n");
print(`\n${report}`);

/** A bar chart of the rates, as SVG. */
const chart = (): string => {
  const maxRate = Math.max(...names.map((name) => rateOf(name, TYPICAL)));
  const bars = names.map((name, index) => {
    const rate = rateOf(name, TYPICAL);
    const [y, width] = [index * 28 + 34, Math.round((rate / maxRate) * 380)];
    return `<text x="330" y="${y + 14}" text-anchor="end">${name.replaceAll("&", "&amp;")}</text><rect x="340" y="${y}" width="${width}" height="20" fill="#4c78a8"/><text x="${346 + width}" y="${y + 14}">${number(rate)}</text>`;
  });
  const height = names.length * 28 + 44;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="800" height="${height}" font-family="sans-serif" font-size="12"><title>Requests per second at ${TYPICAL} connections</title><rect width="800" height="${height}" fill="#fff"/><text x="340" y="20">requests per second at ${TYPICAL} connections</text>${bars.join("")}</svg>\n`;
};
if (options.write) {
  const figures = {
    date: new Date().toISOString().slice(0, 10),
    options,
    measured: Object.fromEntries(measured),
    latencies,
    statements,
    memory: { restMiB, loadedMiB, later: memory },
    startUps,
  };
  await writeFile(join(ROOT, "docs/performance.json"), `${JSON.stringify(figures, null, 2)}\n`);
  await writeFile(join(ROOT, "docs/performance.svg"), chart());
  const page = join(ROOT, "docs/performance.md");
  const text = await readFile(page, "utf8");
  await writeFile(
    page,
    text.replace(/(<!-- measured -->\n)[\s\S]*?(<!-- end -->)/, (_, head, end) => `${head}\n${report}\n\n${end}`),
  );
  // Apply the repository's formatting, also to the tables.
  Bun.spawnSync([process.execPath, "run", "format"], { cwd: ROOT });
}

for (const process of [service, metered, traced, sink, above, first, lists]) await process.end();
await db.close();
await database.close();
await rm(folder, { recursive: true });
