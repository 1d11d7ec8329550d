/**
 * Preparations while the workers, the API and PostgreSQL are killed at random: no request or job is lost, executed
 * twice or stuck.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { connect } from "@realtime-avatar/db/connection/pool";
import { preparedFile, preparedKey } from "@realtime-avatar/domain/avatars/preparation";
import type { AvatarId, TenantId } from "@realtime-avatar/domain/id";
import { openStorage } from "@realtime-avatar/storage/open";
import { client } from "@realtime-avatar/testing/database";
import { fileFolder, fixture } from "@realtime-avatar/testing/fixture";
import { startCluster } from "@realtime-avatar/testing/postgres/cluster";
import { bun, type RunningProcess, startProcess } from "@realtime-avatar/testing/processes";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { callUntilClear } from "./support/calls.ts";
import { inspectorCommand } from "./support/inspector.ts";
import type { TestWorker } from "./support/job-worker.ts";
import { type Call, createScenario, type Expected } from "./support/scenarios.ts";

/** The minimum number of jobs. */
const JOBS = process.env["LONG"] === "1" ? 10_000 : 30;
const TENANTS = 5;
const CALLERS = 16;
const WORKERS = 2;

type Part = { name: string; kill(): Promise<void>; start(): Promise<void> };

const folder = await fileFolder();
const data = join(folder, "data");
// Only processes are killed here, so the operating system keeps their written data.
const cluster = await fixture(startCluster({ settings: { fsync: "off", max_connections: "100" } }));
const url = await cluster.newDatabase();
setDefaultTimeout(3_600_000);
/** How long the last jobs may take. A stuck job never ends. */
const DONE_MS = 600_000;

/** No program listens there. */
const NO_ADDRESS = "http://127.0.0.1:1";

/** A process that can be killed and started again. `start` waits for `started`, which can contain its address. */
const processPart = (name: string, started: RegExp, run: () => RunningProcess): Part & { address(): string } => {
  let running: RunningProcess;
  let address = NO_ADDRESS;
  return {
    name,
    address: () => address,
    start: async () => {
      running = run();
      [, address = NO_ADDRESS] = await running.waitFor(started);
    },
    kill: async () => {
      address = NO_ADDRESS;
      running.kill("SIGKILL");
      await running.exited;
    },
  };
};

const startParts = async () => {
  // On a new port after each start, because another process can have taken the previous one.
  const api = processPart("api", /"url":"(http:[^"]+)"/, () =>
    startProcess(bun("apps/api/src/main.ts"), { PORT: "0", DATABASE_URL: url, DATA_DIR: data }),
  );
  const workers = Array.from({ length: WORKERS }, (_, at) =>
    processPart(`worker ${at}`, /"msg":"started"/, () => {
      const options: TestWorker = {
        url,
        directory: join(data, "assets"),
        inspector: inspectorCommand(),
        port: 0,
        ca: "",
        concurrency: 4,
        retrySeconds: 0.05,
      };
      return startProcess(bun("apps/worker/test/support/worker.ts"), {
        TEST_WORKER: JSON.stringify(options),
        TMPDIR: folder,
      });
    }),
  );
  const postgres: Part = { name: "postgres", kill: cluster.kill, start: cluster.start };
  await Promise.all([api, ...workers].map((part) => part.start()));
  return { url: api.address, parts: [...workers, api, postgres], processes: [api, ...workers] };
};

/** Runs `work` on the database, and repeats it when the database was just killed. */
const onDatabase = async <Result>(work: (sql: ReturnType<typeof client>) => PromiseLike<Result>): Promise<Result> => {
  for (let attempt = 1; ; attempt++) {
    const sql = client(url);
    try {
      return await work(sql);
    } catch (error) {
      if (attempt === 100) throw error;
      await Bun.sleep(100);
    } finally {
      await sql.end({ timeout: 1 }).catch(() => {});
    }
  }
};

/** Kills one part after another at random moments, each at least once, until `isDone`. Returns how often each was killed. */
const killAtRandom = async (parts: readonly Part[], isDone: () => boolean): Promise<Record<string, number>> => {
  const kills: Record<string, number> = Object.fromEntries(parts.map(({ name }) => [name, 0]));
  const first = parts.toSorted(() => Math.random() - 0.5);
  for (let round = 0; round < parts.length || !isDone(); round++) {
    await Bun.sleep(100 + 500 * Math.random());
    const part = first[round] ?? parts[Math.floor(Math.random() * parts.length)];
    if (part === undefined) break;
    await part.kill();
    await part.start();
    kills[part.name] = (kills[part.name] ?? 0) + 1;
    // A kill costs the running jobs an attempt, and there are more kills than attempts.
    await onDatabase((sql) => sql`update jobs set attempts = 0 where attempts > 0`);
  }
  return kills;
};

/** Runs scenarios, several at a time, until they have `JOBS` jobs. */
const runScenarios = async (calls: readonly Call[]): Promise<{ expected: Expected[]; jobs: number }> => {
  const expected: Expected[] = [];
  let next = 0;
  let jobs = 0;
  const caller = async (): Promise<void> => {
    while (jobs < JOBS) {
      const index = next++;
      const scenario = createScenario(index);
      jobs += scenario.jobs;
      expected.push(await scenario.run(calls[index % calls.length] as Call, `avatar-${index}`));
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return { expected, jobs };
};

type Row = {
  tenantId: TenantId;
  id: AvatarId;
  status: string;
  error: string | null;
  generation: number;
  cacheVersion: number;
  manifest: string | null;
  prepared: number;
  failures: number;
};
const readRows = () =>
  onDatabase(
    (sql) => sql<Row[]>`
      select tenant_id as "tenantId", id, status, error, generation, cache_version::integer as "cacheVersion",
        cache_manifest_id as manifest,
        (select count(*)::integer from audit_events where target_id = avatars.id and action = 'avatar.prepared') as prepared,
        (
          select count(*)::integer from audit_events where target_id = avatars.id and action = 'avatar.preparation_failed'
        ) as failures
      from avatars`,
  );

test("jobs, with every process killed at random: none lost, doubled or stuck", async () => {
  const db = connect(url);
  const keys: string[] = [];
  for (let count = 0; count < TENANTS; count++) {
    const { secret } = await seedKey(db, await seedTenant(db), { environment: "test", scopes: ["*"] });
    keys.push(secret.reveal());
  }
  await db.close();
  const service = await startParts();
  const calls = keys.map(
    (key): Call =>
      (request, idempotencyKey) =>
        callUntilClear(service.url, key, request, idempotencyKey),
  );

  const startedAt = performance.now();
  let isDone = false;
  const kills = killAtRandom(service.parts, () => isDone);
  const { expected, jobs } = await runScenarios(calls).finally(() => {
    isDone = true;
  });
  const killed = await kills;
  const jobsLeft = () => onDatabase((sql) => sql`select * from jobs limit 10`);
  await until(async () => (await jobsLeft()).length === 0, { limitMs: DONE_MS, pollMs: 50, state: jobsLeft });
  const seconds = (performance.now() - startedAt) / 1000;
  for (const part of service.processes) await part.kill();

  const rows = await readRows();
  // Each request is executed once, even if it was repeated.
  expect(rows.map(({ id }) => id).sort()).toEqual(expected.map(({ id }) => id as AvatarId).sort());
  const byId = new Map(expected.map((one) => [one.id, one]));
  const wrong = rows.filter((row) => {
    const one = byId.get(row.id) as Expected;
    const isRight =
      row.status === one.status &&
      one.prepared.includes(row.prepared) &&
      one.failures.includes(row.failures) &&
      one.generations.includes(row.generation) &&
      row.cacheVersion === row.prepared &&
      (one.error === undefined ? row.error === null : one.error.test(row.error ?? ""));
    return !isRight;
  });
  expect(wrong.map((row) => ({ row, expected: byId.get(row.id) }))).toEqual([]);
  const [left] = await onDatabase(
    (sql) => sql`
      select (select count(*)::integer from jobs) as jobs,
        (select count(*)::integer from assets where status <> 'ready') as assets`,
  );
  expect({ ...left }).toEqual({ jobs: 0, assets: 0 });
  await checkFiles(rows);
  expect(Math.min(...Object.values(killed))).toBeGreaterThan(0);
  if (process.env["LONG"] === "1") {
    process.stdout.write(
      `${jobs} jobs of ${rows.length} avatars in ${seconds.toFixed(0)} s; killed: ${JSON.stringify(killed)}\n`,
    );
  }
});

/** Checks that every file that a row names exists. */
const checkFiles = async (rows: readonly Row[]): Promise<void> => {
  const storage = await openStorage(
    { kind: "disk", directory: join(data, "assets"), signingSecret: null },
    { origin: () => "" },
  );
  const missing: string[] = [];
  for (const row of rows) {
    if (row.manifest === null) continue;
    const [, generation = "", sha256 = ""] = row.manifest.split("_");
    const file = preparedFile(Number(generation), sha256, "json");
    if ((await storage.stat(preparedKey(row, file))) === null) missing.push(row.id);
  }
  expect(missing).toEqual([]);
  await storage.close();
};
