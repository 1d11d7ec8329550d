/**
 * The measurements of calls other than rates: the latency of a start, the syncs of workers, and a pass of the
 * reconciler.
 */
import { compareRooms, endDueCalls, expireWorkers, listRoomsToDelete } from "@realtime-avatar/db/calls/reconcile";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { roomPrefix } from "@realtime-avatar/domain/calls/room";
import { syncPath } from "@realtime-avatar/domain/calls/worker-sync";
import type { Rooms } from "@realtime-avatar/livekit/rooms";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import type { Database } from "../database.ts";
import { cpuOfFamily, median, type Process, type Request, readCpu } from "../machine.ts";
import { CALLS_PER_WORKER, type SeededCall } from "./world.ts";

/** The duration of `work`, in milliseconds. */
const timeOf = async (work: () => Promise<unknown>): Promise<number> => {
  const from = performance.now();
  await work();
  return performance.now() - from;
};

const send = async (url: string, { method, path, body, headers }: Request): Promise<void> => {
  const response = await fetch(url + path, {
    ...{ method, body, headers: { ...headers, "idempotency-key": crypto.randomUUID() } },
  });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}`);
};

/** Medians in milliseconds. */
export type Latencies = { start: number; createRoom: number; open: number };
const LATENCIES = 300;

/** Measures one start, one CreateRoom and one opened session, one after another, many times. */
export const measureLatency = async (
  { url }: Process,
  rooms: Rooms,
  start: Request,
  open: Request,
): Promise<Latencies> => {
  const times: Record<keyof Latencies, number[]> = { start: [], createRoom: [], open: [] };
  for (let at = 0; at < LATENCIES; at++) {
    times.start.push(await timeOf(() => send(url, start)));
    times.createRoom.push(await timeOf(() => rooms.create(`bench-${at}`)));
    times.open.push(await timeOf(() => send(url, open)));
  }
  return { start: median(times.start), createRoom: median(times.createRoom), open: median(times.open) };
};

/** Percent of a core, and written rows of calls for each call in ten seconds. */
export type Syncs = { servicePercent: number; databasePercent: number; rows: number; syncsPerSecond: number };
const SYNC_SECONDS = 10;
/** The time until each connection is open and each call was reported once. */
const SYNC_WARM_UP_MS = 3000;

/** Syncs all workers repeatedly, like workers: the service holds each sync for a second. */
export const measureSyncs = async (
  { db, pid }: Database,
  service: Process,
  secret: string,
  calls: readonly SeededCall[],
): Promise<Syncs> => {
  let isOver = false;
  let syncs = 0;
  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
  const run = async (workerId: string): Promise<void> => {
    const own = calls.filter((call) => call.workerId === workerId);
    for (let used = 1; !isOver; used++) {
      const reports = own.map(({ id }) => ({ session_id: id, generation: 1, state: "started", used_seconds: used }));
      const body = JSON.stringify({ slots: CALLS_PER_WORKER, features: [], calls: reports });
      const response = await fetch(service.url + syncPath(workerId), { method: "POST", body, headers });
      const { end } = (await response.json()) as { end?: unknown[] };
      if (end?.length !== 0) throw new Error(`a sync returned ${response.status}, or ends calls`);
      syncs++;
    }
  };
  const running = Promise.all([...new Set(calls.map(({ workerId }) => workerId))].map(run));
  const readAll = async () => {
    const [row] = await db.run<{ rows: number }>(
      `select sum(n_tup_ins + n_tup_upd)::integer as rows from pg_stat_user_tables
        where relname in ('usage_sessions', 'calls', 'avatar_slots', 'credit_entries', 'credit_accounts', 'api_key_meters')`,
      [],
    );
    return { rows: row?.rows ?? 0, service: await readCpu(service.pid), database: await cpuOfFamily(pid), syncs };
  };
  // Flushed, because otherwise earlier writes of this connection would be counted later.
  await db.run("select pg_stat_force_next_flush()", []);
  await Bun.sleep(SYNC_WARM_UP_MS);
  const before = await readAll();
  await Bun.sleep(SYNC_SECONDS * 1000);
  const after = await readAll();
  isOver = true;
  await running;
  return {
    servicePercent: (100 * (after.service - before.service)) / SYNC_SECONDS,
    databasePercent: (100 * (after.database - before.database)) / SYNC_SECONDS,
    rows: (after.rows - before.rows) / calls.length / (SYNC_SECONDS / 10),
    syncsPerSecond: (after.syncs - before.syncs) / SYNC_SECONDS,
  };
};

/** Milliseconds of a pass: processor time of this process and of the database, and elapsed time. */
export type Pass = { processMs: number; databaseMs: number; wallMs: number };
const PASSES = 20;

/** The statements of a pass of the reconciler, which finds nothing to do. */
const pass = async (db: Db, prefix: string, names: readonly string[]): Promise<void> => {
  await endDueCalls(db, 250, operatorOrigin());
  await expireWorkers(db, operatorOrigin());
  await listRoomsToDelete(db, 1000);
  const { stray, missing } = await compareRooms(db, prefix, names);
  if (stray.length + missing.length > 0) throw new Error("a pass found differences");
};

/**
 * Passes over these calls, in several rounds, without a request for the list of rooms, because its time is that of
 * LiveKit.
 */
export const measurePasses = async (
  { db, pid }: Database,
  instance: string,
  calls: readonly SeededCall[],
  rounds: number,
): Promise<Pass[]> => {
  const names = calls.map(({ roomName }) => roomName);
  const run = () => pass(db, roomPrefix(instance), names);
  // Warm-up: the server chooses its plans in the first five executions.
  for (let at = 0; at < 10; at++) await run();
  const measured: Pass[] = [];
  for (let round = 0; round < rounds; round++) {
    const [own, database] = [process.cpuUsage(), await cpuOfFamily(pid)];
    const times: number[] = [];
    for (let at = 0; at < PASSES; at++) times.push(await timeOf(run));
    const { user, system } = process.cpuUsage(own);
    const databaseMs = (1000 * ((await cpuOfFamily(pid)) - database)) / PASSES;
    measured.push({ processMs: (user + system) / 1000 / PASSES, databaseMs, wallMs: median(times) });
  }
  return measured;
};
