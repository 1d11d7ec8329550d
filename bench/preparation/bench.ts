/**
 * Benchmark of preparations: `bun bench/preparation/bench.ts`. It starts a PostgreSQL with default durability and a
 * built worker, and writes assets and avatars as the API does. It prints the time from a photo to a ready asset and to
 * a ready avatar: one after another, at a steady rate, and many at once. Linux only.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { insertAsset } from "@realtime-avatar/db/assets/assets";
import { insertAvatar } from "@realtime-avatar/db/avatars/avatars";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import { type AssetRecord, originalKey } from "@realtime-avatar/domain/assets/asset";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import { newId } from "@realtime-avatar/domain/id";
import type { JobKind, JobRecord } from "@realtime-avatar/domain/job";
import { secureRandom } from "@realtime-avatar/runtime/random";
import { openStorage } from "@realtime-avatar/storage/open";
import type { Storage } from "@realtime-avatar/storage/storage";
import { portraitPath } from "@realtime-avatar/testing/photos";
import { plannedAsset, plannedAvatar, seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import { countStatements, type Database, openDatabase, trackStatements } from "../database.ts";
import { cpuOfFamily, percentile, start } from "../machine.ts";
import { buildService } from "../processes.ts";
import { print } from "../progress.ts";

const QUOTA = { maxAssets: 1_000_000, maxBytes: Number.MAX_SAFE_INTEGER };
const POLL_MS = 5;
const MIB = 1024 * 1024;

type World = { database: Database; storage: Storage; photo: Buffer; workerPid: number };

const jobOf = (
  { tenantId, environment, id }: AssetRecord | AvatarRecord,
  kind: JobKind,
  generation: number,
): JobRecord => {
  const runAt = new Date();
  const target = { tenantId, environment, targetId: id, generation };
  return { ...target, id: newId("job", runAt, secureRandom), kind, runAt };
};

/** Stores the photo and writes its asset, as an upload does. */
const upload = async ({ database: { db }, storage, photo }: World, caller: Caller): Promise<AssetRecord> => {
  const asset = plannedAsset(caller, { sizeBytes: photo.length, contentType: "image/jpeg" });
  const stream = new Blob([new Uint8Array(photo)]).stream();
  await storage.put(originalKey(asset), { stream, sizeBytes: photo.length }, "image/jpeg");
  const write = { asset, job: jobOf(asset, "process_asset", 1), quota: QUOTA };
  const { kind } = await insertAsset(db, write, caller, seedOrigin(caller));
  if (kind !== "written") throw new Error(`The asset is ${kind}.`);
  return asset;
};

const create = async ({ database: { db } }: World, caller: Caller, source: AssetRecord): Promise<AvatarRecord> => {
  const avatar = plannedAvatar(caller, { sourceAssetId: source.id });
  const job = jobOf(avatar, "prepare_avatar", avatar.generation);
  const { kind } = await insertAvatar(db, avatar, job, caller, seedOrigin(caller));
  if (kind !== "written") throw new Error(`The avatar is ${kind}.`);
  return avatar;
};

/** Waits until each of the rows is ready. Returns the milliseconds since `from` for each row. */
const untilReady = async (
  { database: { db } }: World,
  table: "assets" | "avatars",
  ids: readonly string[],
  from: number,
): Promise<number[]> => {
  const times = new Map<string, number>();
  while (times.size < ids.length) {
    const waiting = ids.filter((id) => !times.has(id));
    const rows = await db.run<{ id: string; status: string }>(
      `select id, status from ${table} where id = any ($1) and status in ('ready', 'failed')`,
      [waiting],
    );
    for (const { id, status } of rows) {
      if (status === "failed") throw new Error(`The photo is refused: ${table}.`);
      times.set(id, performance.now() - from);
    }
    await Bun.sleep(POLL_MS);
  }
  return ids.map((id) => times.get(id) ?? 0);
};

const show = (name: string, values: readonly number[]): void => {
  const [p50, p95, most] = [0.5, 0.95, 1].map((part) => Math.round(percentile(values, part)));
  print(`${name.padEnd(58)} p50 ${p50} ms, p95 ${p95} ms, max ${most} ms (${values.length})`);
};

/** Samples the peak memory of the processes that the worker starts. Returns the largest peaks, in MiB. */
const watchChildren = (parent: number): (() => number[]) => {
  const peaks = new Map<string, number>();
  const timer = setInterval(async () => {
    for (const pid of await readdir("/proc")) {
      if (!/^\d+$/.test(pid)) continue;
      const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
      if (!new RegExp(`^PPid:\\s+${parent}$`, "m").test(status)) continue;
      const peak = (1024 * Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0)) / MIB;
      peaks.set(pid, Math.max(peaks.get(pid) ?? 0, peak));
    }
  }, 10);
  return () => {
    clearInterval(timer);
    return [...peaks.values()];
  };
};

/** Prepares avatars one after another, on an idle queue. */
const measureIdle = async (world: World, caller: Caller, count: number): Promise<void> => {
  const times: Record<"asset" | "avatar" | "both", number[]> = { asset: [], avatar: [], both: [] };
  for (let index = 0; index < count; index++) {
    let from = performance.now();
    const asset = await upload(world, caller);
    times.asset.push(...(await untilReady(world, "assets", [asset.id], from)));
    await Bun.sleep(500 * Math.random());
    from = performance.now();
    const avatar = await create(world, caller, asset);
    times.avatar.push(...(await untilReady(world, "avatars", [avatar.id], from)));
    await Bun.sleep(500 * Math.random());
    from = performance.now();
    const next = await create(world, caller, await upload(world, caller));
    times.both.push(...(await untilReady(world, "avatars", [next.id], from)));
    await Bun.sleep(500 * Math.random());
  }
  show("idle: a photo until its asset is ready", times.asset);
  show("idle: an avatar of a ready asset until it is ready", times.avatar);
  show("idle: a photo and its avatar at once, until it is ready", times.both);
};

/** Prepares avatars at a steady rate, even if earlier preparations have not ended. */
const measureSteady = async (world: World, caller: Caller, rate: number, count: number): Promise<void> => {
  const asset = await upload(world, caller);
  await untilReady(world, "assets", [asset.id], 0);
  const times: Promise<number[]>[] = [];
  for (let index = 0; index < count; index++) {
    const from = performance.now();
    const avatar = await create(world, caller, asset);
    times.push(untilReady(world, "avatars", [avatar.id], from));
    await Bun.sleep(from + 1000 / rate - performance.now());
  }
  show(`${rate} avatars a second, of one tenant`, (await Promise.all(times)).flat());
};

/** Prepares many avatars of several tenants at once. */
const measureQueue = async (world: World, callers: readonly Caller[], count: number): Promise<void> => {
  const { database, workerPid } = world;
  const sources = await Promise.all(callers.map((caller) => upload(world, caller)));
  await untilReady(
    world,
    "assets",
    sources.map(({ id }) => id),
    0,
  );
  const stop = watchChildren(workerPid);
  const before = await cpuOfFamily(workerPid);
  await trackStatements(database.db, "top");
  await countStatements(database.db);
  const from = performance.now();
  const avatars: AvatarRecord[] = [];
  for (let index = 0; index < count; index++) {
    const at = index % callers.length;
    avatars.push(await create(world, callers[at] as Caller, sources[at] as AssetRecord));
  }
  const times = await untilReady(
    world,
    "avatars",
    avatars.map(({ id }) => id),
    from,
  );
  const seconds = (performance.now() - from) / 1000;
  const statements = (await countStatements(database.db)) / count;
  await trackStatements(database.db, "none");
  const cpu = (await cpuOfFamily(workerPid)) - before;
  show(`${count} avatars at once`, times);
  print(
    `jobs per second: ${(count / seconds).toFixed(2)}; processor time of a job: ${Math.round((1000 * cpu) / count)} ms`,
  );
  print(`statements for an avatar, with its create and the claims that find nothing: ${statements.toFixed(1)}`);
  const peaks = stop();
  print(`memory of a child: ${Math.round(percentile(peaks, 0.5))} MiB, at most ${Math.round(Math.max(...peaks))} MiB`);
};

const { values } = parseArgs({
  options: {
    photo: { type: "string", default: portraitPath() },
    "skip-build": { type: "boolean", default: false },
    count: { type: "string", default: "30" },
    rate: { type: "string", default: "1" },
    queue: { type: "string", default: "60" },
    jobs: { type: "string", default: "2" },
    tenants: { type: "string", default: "4" },
  },
});
const database = await openDatabase();
const { folder } = database;
const directory = join(folder, "data/assets");
const storage = await openStorage(
  { kind: "disk", directory, signingSecret: null },
  { origin: () => "http://localhost" },
);
if (!values["skip-build"]) buildService();
const worker = await start([process.execPath, "apps/worker/dist/main.js"], join(folder, "worker.log"), {
  WORKER_PORT: "0",
  DATABASE_URL: database.url,
  DATA_DIR: join(folder, "data"),
  JOBS: values.jobs,
  // The measurements of one tenant are those of the worker.
  JOBS_PER_TENANT: values.jobs,
});
const world: World = { database, storage, photo: await readFile(values.photo), workerPid: worker.pid };
const callers = await Promise.all(Array.from({ length: Number(values.tenants) }, () => seedCaller(database.db)));
await measureIdle(world, callers[0] as Caller, Number(values.count));
await measureSteady(world, callers[0] as Caller, Number(values.rate), Number(values.count));
await measureQueue(world, callers, Number(values.queue));
await worker.end();
await storage.close();
await database.close();
