/**
 * The rate at which events are sent, and the time until they arrive. The receiver is another process, so only the
 * processor time of the sender counts. pg-boss does the same with one job per delivery, which signs and posts with the
 * same code.
 */
import type { Caller } from "@realtime-avatar/db/callers/callers";
import { connect, type Db } from "@realtime-avatar/db/connection/pool";
import { webhookHeaders } from "@realtime-avatar/domain/webhooks/signature";
import { secureRandom as random } from "@realtime-avatar/runtime/random";
import { seedAvatar, seedCaller } from "@realtime-avatar/testing/seeds";
import { PgBoss } from "pg-boss";
import { createPoster } from "../../apps/worker/src/remote/post.ts";
import type { Database } from "../database.ts";
import { cpuOfFamily, percentile } from "../machine.ts";
import { print } from "../progress.ts";
import { table } from "../report.ts";
import { endpointAt, type Receiver, startOwn } from "./world.ts";

const TENANTS = 20;
const COUNT = 2000;
/** The number of waiting deliveries of one tenant while another tenant sends events. */
const WAITING = 10_000;

type World = { database: Database; db: Db; receiver: Receiver; callers: readonly Caller[] };

const seedCallers = (db: Db, count: number) => Promise.all(Array.from({ length: count }, () => seedCaller(db)));
const endpointsAt = async ({ db, receiver }: World, callers: readonly Caller[], path: string): Promise<void> => {
  for (const caller of callers) await endpointAt(db, receiver, caller, path);
};
const untilArrived = async ({ receiver }: World, path: string, count: number): Promise<void> => {
  while (receiver.at(path).length < count) await Bun.sleep(20);
};
/** Creates avatars: each is an event. */
const createAvatars = async ({ db }: World, caller: Caller, count: number): Promise<void> => {
  for (let left = count; left > 0; left -= 50) {
    await Promise.all(Array.from({ length: Math.min(50, left) }, () => seedAvatar(db, caller)));
  }
};
/** Removes the rows of the previous part. */
const clear = ({ database }: World) =>
  database.db.run("truncate webhook_deliveries, webhook_events, webhook_endpoints, webhook_turns", []);

/**
 * Runs `work`. Returns the cost of each of `count` deliveries: seconds, and microseconds of the processor, here and at
 * the database.
 */
const measure = async ({ database }: World, count: number, work: () => Promise<void>): Promise<number[]> => {
  const [own, server, at] = [process.cpuUsage(), await cpuOfFamily(database.pid), performance.now()];
  await work();
  const { user, system } = process.cpuUsage(own);
  const seconds = (performance.now() - at) / 1000;
  const atServer = (await cpuOfFamily(database.pid)) - server;
  return [seconds / count, (user + system) / count, (atServer * 1e6) / count];
};

const drain = async (world: World, path: string): Promise<number[]> => {
  const { db, receiver, callers } = world;
  await endpointsAt(world, callers, path);
  for (const caller of callers) await createAvatars(world, caller, COUNT / TENANTS);
  const figures = await measure(world, COUNT, async () => {
    const sender = startOwn(db, receiver);
    await untilArrived(world, path, COUNT);
    await sender.stop();
  });
  await clear(world);
  return figures;
};

/** `batch`: the number of jobs of one handler, which succeed or fail together. With 1: separate jobs, by 32 pollers. */
const boss = async (world: World, path: string, batch: number): Promise<number[]> => {
  const { database, receiver } = world;
  const queue = `deliveries-${batch}`;
  const pgBoss = new PgBoss({ connectionString: database.url, max: 10 });
  pgBoss.on("error", (error: Error) => print(`pg-boss: ${error.name}`));
  await pgBoss.start();
  await pgBoss.createQueue(queue);
  const secret = `whsec_${Buffer.from(random(32)).toString("base64")}`;
  const body = JSON.stringify({ type: "avatar.updated", data: { id: "ava_x", resource: { text: "x".repeat(700) } } });
  const url = `https://hooks.example.com:${receiver.port}${path}`;
  type Data = { id: string; endpoint: string; body: string };
  const jobs = Array.from({ length: COUNT }, (_, at) => ({
    data: { id: `evt_${at}`, endpoint: `${at % TENANTS}`, body },
  }));
  await pgBoss.insert(queue, jobs);
  const poster = createPoster({ network: receiver.network });
  const { signal } = new AbortController();
  const post = async ({ id, endpoint, body }: Data): Promise<void> => {
    const signed = webhookHeaders({ id, sentAt: new Date(), body }, [secret]);
    const headers = { ...signed, "Content-Type": "application/json" };
    const posted = await poster.post({ receiver: endpoint, url, headers, body }, signal);
    if (posted.kind !== "posted") throw new Error(posted.code);
  };
  const figures = await measure(world, COUNT, async () => {
    await pgBoss.work<Data>(
      queue,
      { batchSize: batch, pollingIntervalSeconds: 0.5, localConcurrency: batch === 1 ? 32 : 1 },
      async (given) => void (await Promise.all(given.map(({ data }) => post(data)))),
    );
    await untilArrived(world, path, COUNT);
    await pgBoss.stop();
  });
  poster.close();
  return figures;
};

/**
 * A row: the milliseconds from the commit of an avatar until its event arrives at the receiver, for `count` avatars.
 */
const delays = async (
  { db, receiver }: World,
  name: string,
  { callers, path, count }: { callers: readonly Caller[]; path: string; count: number },
): Promise<string[]> => {
  const committed = new Map<string, number>();
  for (let i = 0; i < count; i++) {
    const { id } = await seedAvatar(db, callers[i % callers.length] as Caller);
    committed.set(id, performance.timeOrigin + performance.now());
    await Bun.sleep(20 + Math.random() * 60);
  }
  const isIn = () => new Set(receiver.at(path).map(({ target }) => target));
  while ([...committed.keys()].some((id) => !isIn().has(id))) await Bun.sleep(50);
  const values = receiver.at(path).flatMap(({ target, at }) => {
    const from = committed.get(target);
    return from === undefined ? [] : [at - from];
  });
  return [name, ...[0.5, 0.95, 1].map((part) => `${Math.round(percentile(values, part))}`)];
};

/**
 * The time until events arrive: on an idle service, with dead endpoints, and with many deliveries of another tenant.
 */
const measureDelays = async (world: World): Promise<string[]> => {
  const { db, receiver, callers } = world;
  const sender = startOwn(db, receiver);
  await endpointsAt(world, callers, "/rest");
  const every = { callers, path: "/rest", count: 200 };
  const rows = [await delays(world, "at rest", every)];
  const [, own = 0, server = 0] = await measure(world, 1, () => Bun.sleep(10_000));
  const dead = await seedCallers(db, 200);
  await endpointsAt(world, dead, "/dead");
  for (const caller of dead) await createAvatars(world, caller, 20);
  await Bun.sleep(2000);
  rows.push(await delays(world, "beside 200 tenants with dead endpoints, 4,000 events", every));
  await sender.stop();
  await clear(world);

  const [many, one] = callers as [Caller, Caller];
  await endpointsAt(world, [many], "/many");
  await endpointsAt(world, [one], "/one");
  await createAvatars(world, many, WAITING);
  const busy = startOwn(db, receiver);
  await untilArrived(world, "/many", 100);
  const name = `beside another tenant with ${WAITING} due`;
  rows.push(await delays(world, name, { callers: [one], path: "/one", count: 20 }));
  const left = WAITING - receiver.at("/many").length;
  await busy.stop();
  const [sent, served] = [own, server].map((micros) => Math.round(micros / 1000));
  return [
    table(["milliseconds from the commit to the receiver", "p50", "p95", "maximum"], rows),
    `${left} of the ${WAITING} were left. In 10 s at rest the sender takes ${sent} ms, and PostgreSQL ${served} ms.`,
  ];
};

/** Sends events with our sender and with pg-boss, and measures the time until they arrive. Returns tables. */
export const measureSending = async (database: Database, receiver: Receiver): Promise<string> => {
  const db = connect(database.url, { connections: 10, deadlineMs: 60_000 });
  const world: World = { database, db, receiver, callers: await seedCallers(db, TENANTS) };
  await drain(world, "/warm");
  const rates = [
    ["the sender", await drain(world, "/ours")] as const,
    ["pg-boss, 100 jobs in one handler (all or none)", await boss(world, "/boss-100", 100)] as const,
    ["pg-boss, a job for each, 32 pollers", await boss(world, "/boss-1", 1)] as const,
  ].map(([name, [seconds = 1, own = 0, server = 0]]) => [
    name,
    ...[1 / seconds, own, server].map((value) => `${Math.round(value)}`),
  ]);
  const texts = await measureDelays(world);
  await db.close();
  const head = ["deliveries that wait, to 20 endpoints", "a second", "processor, µs each", "PostgreSQL, µs each"];
  return [table(head, rates), ...texts].join("\n\n");
};
