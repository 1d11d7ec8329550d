/**
 * Benchmark of the sender of webhooks: `bun bench/webhooks/sender.ts`. The receiver is another process, so the processor time is
 * that of the sender alone. pg-boss does the same with one job a delivery: it signs and posts with the same code. Linux only.
 */

import type { Caller } from "@realtime-avatar/db/api-keys/callers";
import { connect, type Db } from "@realtime-avatar/db/connection/pool";
import { webhookHeaders } from "@realtime-avatar/domain/webhooks/signature";
import { createLog } from "@realtime-avatar/runtime/log";
import { secureRandom as random } from "@realtime-avatar/runtime/random";
import { seedAvatar, seedCaller } from "@realtime-avatar/testing/seeds";
import { PgBoss } from "pg-boss";
import { createPoster } from "../../apps/worker/src/remote/post.ts";
import { SENDER_TIMING, startSender } from "../../apps/worker/src/webhooks/sender.ts";
import {
  loopback,
  SEALING_KEY,
  type SeededEndpoint,
  seedSealedEndpoint,
} from "../../apps/worker/src/webhooks/world.testing.ts";
import { openDatabase } from "../database.ts";
import { cpuOfFamily, percentile } from "../machine.ts";
import { print } from "../progress.ts";
import { table } from "../report.ts";

const database = await openDatabase();
const db = connect(database.url, { connections: 10, deadlineMs: 60_000 });

/** The receiver, and what has arrived at each path: the targets of events, with their times. */
const child = Bun.spawn([process.execPath, `${import.meta.dir}/receiver.ts`], { stdin: "pipe", stdout: "pipe" });
const arrived: { path: string; target: string; at: number }[] = [];
const started = Promise.withResolvers<{ port: number; ca: string }>();
(async () => {
  let rest = "";
  for await (const chunk of child.stdout) {
    const lines = (rest + new TextDecoder().decode(chunk)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("{")) started.resolve(JSON.parse(line));
      else {
        const [path = "", target = "", at = ""] = line.split(" ");
        arrived.push({ path, target, at: Number(at) });
      }
    }
  }
})();
const { port, ca } = await started.promise;
const network = loopback(port, ca);
const arrivals = (path: string) => arrived.filter((one) => one.path === path);
const untilArrived = async (path: string, count: number): Promise<void> => {
  while (arrivals(path).length < count) await Bun.sleep(20);
};
const endpointAt = (caller: Caller, path: string): Promise<SeededEndpoint> =>
  seedSealedEndpoint(db, caller, { url: `https://hooks.example.com:${port}${path}` });

const startOwn = (own: Db = db) =>
  startSender({
    db: own,
    log: createLog("warn"),
    random,
    metrics: null,
    tracing: null,
    poster: createPoster({ network }),
    sealingKey: SEALING_KEY,
    assetOrigin: "https://files.example.com",
    userAgent: "realtime-avatar/bench",
    sends: 1000,
    timing: SENDER_TIMING,
  });

/** Runs `work`, and returns deliveries a second, and the processor time of each here and at the database, in microseconds. */
const measure = async (count: number, work: () => Promise<void>): Promise<number[]> => {
  const [own, server, at] = [process.cpuUsage(), await cpuOfFamily(database.pid), performance.now()];
  await work();
  const { user, system } = process.cpuUsage(own);
  const seconds = (performance.now() - at) / 1000;
  const atServer = (await cpuOfFamily(database.pid)) - server;
  return [count / seconds, (user + system) / count, (atServer * 1e6) / count].map(Math.round);
};
/** Creates avatars: each is an event. */
const createAvatars = async (caller: Caller, count: number): Promise<void> => {
  for (let left = count; left > 0; left -= 50) {
    await Promise.all(Array.from({ length: Math.min(50, left) }, () => seedAvatar(db, caller)));
  }
};
/** Removes what a part has left. */
const clear = () =>
  database.db.run("truncate webhook_deliveries, webhook_events, webhook_endpoints, webhook_turns", []);

const TENANTS = 20;
const EACH = 100;
/** Deliveries of one tenant that wait while another one has some. */
const WAITING = 10_000;
const COUNT = TENANTS * EACH;
const callers = await Promise.all(Array.from({ length: TENANTS }, () => seedCaller(db)));

const drain = async (path: string): Promise<number[]> => {
  for (const caller of callers) {
    await endpointAt(caller, path);
    await createAvatars(caller, EACH);
  }
  const figures = await measure(COUNT, async () => {
    const sender = startOwn();
    await untilArrived(path, COUNT);
    await sender.stop();
  });
  await clear();
  return figures;
};

/** `batch`: jobs of one handler, all or none of which succeed; 1: each for itself, by 32 pollers. */
const boss = async (path: string, batch: number): Promise<number[]> => {
  const queue = `deliveries-${batch}`;
  const pgBoss = new PgBoss({ connectionString: database.url, max: 10 });
  pgBoss.on("error", (error: Error) => print(`pg-boss: ${error.name}`));
  await pgBoss.start();
  await pgBoss.createQueue(queue);
  const secret = `whsec_${Buffer.from(random(32)).toString("base64")}`;
  const avatar = JSON.stringify({ type: "avatar.updated", data: { id: "ava_x", resource: { text: "x".repeat(700) } } });
  const url = `https://hooks.example.com:${port}${path}`;
  for (let i = 0; i < COUNT; i += 500) {
    await pgBoss.insert(
      queue,
      Array.from({ length: 500 }, (_, j) => ({
        data: { id: `evt_${i + j}`, endpoint: `${(i + j) % TENANTS}`, body: avatar },
      })),
    );
  }
  const poster = createPoster({ network });
  const { signal } = new AbortController();
  type Data = { id: string; endpoint: string; body: string };
  const post = async ({ id, endpoint, body }: Data): Promise<void> => {
    const headers = {
      ...webhookHeaders({ id, sentAt: new Date(), body }, [secret]),
      "Content-Type": "application/json",
    };
    const posted = await poster.post({ receiver: endpoint, url, headers, body }, signal);
    if (posted.kind !== "posted") throw new Error(posted.code);
  };
  const figures = await measure(COUNT, async () => {
    await pgBoss.work<Data>(
      queue,
      { batchSize: batch, pollingIntervalSeconds: 0.5, localConcurrency: batch === 1 ? 32 : 1 },
      async (jobs) => void (await Promise.all(jobs.map(({ data }) => post(data)))),
    );
    await untilArrived(path, COUNT);
    await pgBoss.stop();
  });
  poster.close();
  return figures;
};

const rows = (name: string, figures: number[]): string[] => [name, ...figures.map(String)];
print("## Deliveries that wait, to 20 endpoints\n");
await drain("/warm");
const ours = await drain("/ours");
const results = [rows("the sender", ours)];
for (const batch of [100, 1]) {
  const name = batch === 1 ? "pg-boss, a job each, 32 pollers" : `pg-boss, ${batch} jobs of one handler`;
  results.push(rows(name, await boss(`/boss-${batch}`, batch)));
}
print(`${table(["", "deliveries/s", "processor, µs each", "PostgreSQL, µs each"], results)}\n`);

/** Milliseconds from the commit of an avatar until its event is at the receiver, for `count` avatars. */
const delays = async (callersOf: readonly Caller[], path: string, count: number): Promise<number[]> => {
  const committed = new Map<string, number>();
  for (let i = 0; i < count; i++) {
    const { id } = await seedAvatar(db, callersOf[i % callersOf.length] as Caller);
    committed.set(id, performance.timeOrigin + performance.now());
    await Bun.sleep(20 + Math.random() * 60);
  }
  const isIn = () => new Set(arrivals(path).map(({ target }) => target));
  while ([...committed.keys()].some((id) => !isIn().has(id))) await Bun.sleep(50);
  return arrivals(path).flatMap(({ target, at }) => (committed.has(target) ? [at - (committed.get(target) ?? 0)] : []));
};
const show = (name: string, values: number[]): string[] => [
  name,
  ...[0.5, 0.95, 1].map((part) => String(Math.round(percentile(values, part)))),
];
const latencies: string[][] = [];
const sender = startOwn();
for (const caller of callers) await endpointAt(caller, "/rest");
const atRest = await delays(callers, "/rest", 200);
latencies.push(show("at rest", atRest));

const dead = await Promise.all(Array.from({ length: 200 }, () => seedCaller(db)));
for (const caller of dead) {
  await endpointAt(caller, "/dead");
  await createAvatars(caller, 20);
}
await Bun.sleep(2000);
latencies.push(show("beside 200 tenants with dead endpoints, 4,000 events", await delays(callers, "/rest", 200)));
await sender.stop();
await clear();

const [many, one] = callers as [Caller, Caller];
await endpointAt(many, "/many");
await endpointAt(one, "/one");
await createAvatars(many, WAITING);
const busy = startOwn();
await untilArrived("/many", 100);
const besides = await delays([one], "/one", 20);
latencies.push(
  show(`beside another tenant with ${WAITING} due (${WAITING - arrivals("/many").length} were left)`, besides),
);
await busy.stop();
await clear();
print("## Milliseconds from the commit to the receiver\n");
print(`${table(["", "p50", "p95", "maximum"], latencies)}\n`);

print("## At rest\n");
const idle = startOwn();
await endpointAt(one, "/idle");
const [perSecond, cpu, atServer] = await measure(1, () => Bun.sleep(10_000));
print(`In 10 s without anything due: ${cpu} µs of the sender and ${atServer} µs of PostgreSQL (${perSecond ?? 0}).\n`);
await idle.stop();

await db.close();
child.stdin.end();
await child.exited;
await database.close();
process.exit();
