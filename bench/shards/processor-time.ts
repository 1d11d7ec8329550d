/**
 * The processor time of the database for one operation, on one plain PostgreSQL, on the node of a shard, and through the
 * coordinator: `CITUS_BIN=… bun bench/shards/processor-time.ts [runs]`. It is comparable on a busy machine, unlike elapsed time.
 * All processes of all nodes count. `CITUS_BIN` is the folder of a PostgreSQL with Citus.
 */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { insertAvatar } from "@realtime-avatar/db/avatars/avatars";
import { listAvatars } from "@realtime-avatar/db/avatars/list";
import { type Caller, findCredential } from "@realtime-avatar/db/callers/callers";
import type { BatchKind } from "@realtime-avatar/db/connection/batch";
import { connect, type Db } from "@realtime-avatar/db/connection/pool";
import { openUsageSession, releaseSession, reportUsage } from "@realtime-avatar/db/credits/usage-sessions";
import { claimJob } from "@realtime-avatar/db/jobs/jobs";
import { migrate, withLock } from "@realtime-avatar/db/migrate";
import { migrateShard } from "@realtime-avatar/db/shards/migrate-shard";
import { readPlacement } from "@realtime-avatar/db/shards/placement";
import { shardOptions } from "@realtime-avatar/db/shards/shard";
import { JOB_KINDS } from "@realtime-avatar/domain/job";
import { sessionRequest } from "@realtime-avatar/testing/credits";
import { startNodes } from "@realtime-avatar/testing/postgres/citus";
import { client } from "@realtime-avatar/testing/postgres/client";
import { openByTcp } from "@realtime-avatar/testing/postgres/embedded";
import { findTestCaller, plannedAvatar, seedKey, seedOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { measureProcessorTime } from "./processor-times.ts";

const TENANTS = 64;
const RUNS = Number(process.argv[2] ?? 3);
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const binaries = process.env["CITUS_BIN"];
if (binaries === undefined) throw new Error("CITUS_BIN must name a PostgreSQL with Citus.");

/** All calls of one turn of the event loop form batches, as when many requests arrive at once. */
const gathering = (db: Db): Db => {
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own types
  const waiting = new Map<BatchKind<any, any>, { input: unknown; resolve: (output: never) => void }[]>();
  return {
    ...db,
    batch: (kind, input) =>
      new Promise((resolve, reject) => {
        const queue = waiting.get(kind) ?? [];
        if (queue.length === 0) {
          waiting.set(kind, queue);
          setTimeout(() => {
            waiting.delete(kind);
            kind.run(db, queue.map((one) => one.input) as never).then((outputs) => {
              for (const [index, one] of queue.entries()) one.resolve(outputs[index] as never);
            }, reject);
          }, 0);
        }
        queue.push({ input, resolve: resolve as never });
      }),
  };
};

type Operation = { name: string; times: number; run(db: Db, callers: readonly Caller[]): Promise<unknown> };
const first = (callers: readonly Caller[]): Caller => callers[0] as Caller;
const create = (db: Db, caller: Caller) => insertAvatar(db, plannedAvatar(caller), null, caller, seedOrigin(caller));

const OPERATIONS: readonly Operation[] = [
  { name: "look-up", times: 600, run: (db, callers) => findCredential(db, first(callers).credentialKeyId) },
  {
    name: "64 look-ups in a batch",
    times: 60,
    run: (db, callers) => Promise.all(callers.map(({ credentialKeyId }) => findCredential(db, credentialKeyId))),
  },
  { name: "create avatar", times: 600, run: (db, callers) => create(db, first(callers)) },
  {
    name: "16 creates of 16 tenants",
    times: 80,
    run: (db, callers) => Promise.all(callers.slice(0, 16).map((caller) => create(db, caller))),
  },
  {
    name: "64 creates of 64 tenants",
    times: 40,
    run: (db, callers) => Promise.all(callers.map((caller) => create(db, caller))),
  },
  {
    name: "list of 50 avatars",
    times: 300,
    run: (db, callers) => listAvatars(db, first(callers), { before: null, limit: 50, filters: {} } as never, ""),
  },
  {
    name: "claim of a job, nothing due",
    times: 400,
    run: (db) => claimJob(db, { lease: "x".repeat(22), leaseSeconds: 60, slots: 1, kinds: JOB_KINDS }),
  },
];

/** Measures the operations of sessions separately, because each one needs the previous one. */
const measureSessions = async (db: Db, caller: Caller, measure: Measure): Promise<[string, number][]> => {
  const requests = Array.from({ length: 200 }, () => sessionRequest(caller));
  const of = (name: string, run: (request: (typeof requests)[number]) => Promise<unknown>) =>
    measure(requests.length, async (turn) => run(requests[turn] as (typeof requests)[number])).then(
      (time): [string, number] => [name, time],
    );
  const use = { used: 1000, leaseSeconds: 60 };
  const release = { isEngine: true, used: 2000, reason: null };
  return [
    await of("open session", (request) => openUsageSession(db, request, caller)),
    await of("report usage", ({ id }) => reportUsage(db, id, use, caller)),
    await of("release session", ({ id }) => releaseSession(db, id, release, caller, seedOrigin(caller))),
  ];
};

/** Runs `work` this many times, and returns the milliseconds of processor time per run. */
type Measure = (times: number, run: (turn: number) => Promise<unknown>) => Promise<number>;
const measureOn =
  (servers: readonly number[]): Measure =>
  async (times, run) => {
    const milliseconds = await measureProcessorTime(servers, async () => {
      for (let turn = 0; turn < times; turn++) await run(turn);
    });
    return milliseconds / times;
  };

const measureAll = async (db: Db, servers: readonly number[]): Promise<Map<string, number[]>> => {
  const callers: Caller[] = [];
  for (let tenant = 0; tenant < TENANTS; tenant++) {
    const { secret } = await seedKey(db, await seedTenant(db, { live: 1e14 }), {
      environment: "live",
      scopes: ["*", "usage:write"],
    });
    callers.push(await findTestCaller(db, secret.keyId));
  }
  const measure = measureOn(servers);
  const gathered = gathering(db);
  const results = new Map<string, number[]>();
  for (let run = 0; run <= RUNS; run++) {
    const found: [string, number][] = [];
    for (const { name, times, run: operation } of OPERATIONS) {
      found.push([name, await measure(times, () => operation(gathered, callers))]);
    }
    found.push(...(await measureSessions(gathered, first(callers), measure)));
    // The first run warms up.
    if (run > 0) for (const [name, time] of found) results.set(name, [...(results.get(name) ?? []), time]);
  }
  return results;
};

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;

const folder = await temporaryFolder();
const plain = await openByTcp(join(folder, "plain"), { settings: { fsync: "off" }, binaries });
const plainPid = Number((await readFile(join(folder, "plain/postgres/postmaster.pid"), "utf8")).split("\n")[0]);
await migrate(plain.url);
const citus = await startNodes(binaries);
await withLock(citus.coordinator, {}, async (admin) => {
  for (let shard = 0; shard < 2; shard++) await migrateShard(admin, shard);
});
const admin = client(citus.coordinator);
const place = (await readPlacement((text) => admin.unsafe(text))).get(0);
await admin.end();
const options = { connections: 1, deadlineMs: 120_000 };
const shard = { ...options, shard: shardOptions(0) };
const pids = await Promise.all(citus.nodes.map(({ server }) => server.pid()));
const atNode = Object.assign(new URL(citus.coordinator), { host: `${place?.host}:${place?.port}` }).href;
const placements: [string, Db, readonly number[]][] = [
  ["plain", connect(plain.url, options), [plainPid]],
  ["on the shard's node", connect(atNode, shard), pids],
  ["through the coordinator", connect(citus.coordinator, { ...shard, shard: shardOptions(0) }), pids],
];
const columns: Map<string, number[]>[] = [];
for (const [, db, servers] of placements) {
  columns.push(await measureAll(db, servers));
  await db.close();
}
say(`| Operation | ${placements.map(([name]) => name).join(" | ")} | node / plain |`);
say("| --- | ---: | ---: | ---: | ---: |");
for (const name of columns[0]?.keys() ?? []) {
  const [plainTime = 0, ...others] = columns.map((column) => median(column.get(name) ?? []));
  const cells = [plainTime, ...others].map((time) => time.toFixed(2));
  say(`| ${name} | ${cells.join(" | ")} | ${((others[0] ?? 0) / plainTime).toFixed(1)} |`);
}
await plain.close();
await rm(folder, { recursive: true, force: true });
process.exit(0);
