/**
 * The part `calls` of the benchmark: starts compared with opened sessions, refusals, syncs of avatar workers, and the
 * reconciler.
 */
import { loadavg } from "node:os";
import { readInstance } from "@realtime-avatar/db/calls/reconcile";
import { createRooms } from "@realtime-avatar/livekit/rooms";
import { Secret } from "@realtime-avatar/storage/secret";
import { apiRequest } from "../contestants.ts";
import { OPEN_CLAIMED, REFUSED, type Row } from "../credits/contestants.ts";
import { divideRates, formatRange, type Goal, goalTable } from "../credits/goals.ts";
import { measureRows, measureWal, type Wal } from "../credits/measure.ts";
import { LEASE_SECONDS, type Line } from "../credits/world.ts";
import { type Database, openDatabase } from "../database.ts";
import type { Process } from "../machine.ts";
import type { Rounds } from "../measure.ts";
import type { Options } from "../options.ts";
import { buildService, startServer, startService } from "../processes.ts";
import { type Progress, print } from "../progress.ts";
import { loadText, micros, number, table, writeBlock } from "../report.ts";
import { type Latencies, measureLatency, measurePasses, measureSyncs, type Pass, type Syncs } from "./measure.ts";
import { AVATAR_ID, CALLS_PER_WORKER, freeSlots, seedCalls, seedWorld, type World } from "./world.ts";

const PATH = "/realtime/livekit/session";
const START = `POST ${PATH}`;
const START_CLAIMED = `${START}, Idempotency-Key, 64 tenants`;
const START_REFUSED = `${START}, refused at the limit (429)`;
/** Starts a second. A faster machine runs out of slots, and gets more of them. */
const STARTS_PER_SECOND = 4000;
const CALL = { avatar_id: AVATAR_ID, max_session_seconds: 1 };
const SESSION = { maxSessionSeconds: 1 };
const SECRET = "a secret of avatar workers, and of LiveKit".replaceAll(" ", "-");
const SYNCED = { name: "sync", count: 100 * CALLS_PER_WORKER, keys: 100 };
const PASS_ROUNDS = 3;
/** Seconds of calls that are reserved for latencies and the write-ahead log. */
const AFTER_ROUNDS_SECONDS = 15;
const RECONCILED = { name: "pass", count: 10_000, keys: 1000 };

const startOf = ({ apiKey }: Line) => apiRequest(apiKey, "POST", PATH, CALL);
const openOf = ({ apiKey }: Line) => apiRequest(apiKey, "POST", "/usage/sessions", SESSION);

const rowsOf = ({ db }: Database, server: Process, { many, full, capped }: World, seconds: number): Row[] => {
  const line = many[0] as Line;
  const fast = { server, connections: 32, delay: 0 };
  const apiKeys = many.map(({ apiKey }) => apiKey);
  const start = async (supply: number) => {
    await freeSlots(db, STARTS_PER_SECOND * seconds * supply);
    return { ...startOf(line), apiKeys };
  };
  return [
    { ...fast, name: START_CLAIMED, prepare: start, isClaimed: true },
    { ...fast, name: OPEN_CLAIMED, request: { ...openOf(line), apiKeys }, isClaimed: true },
    { ...fast, name: START_REFUSED, request: startOf(full), isRefused: true },
    { ...fast, name: REFUSED, request: openOf(capped), isRefused: true },
  ];
};

type Results = {
  rows: readonly Row[];
  rounds: Rounds;
  latencies: Latencies;
  wal: readonly Wal[];
  syncs: Syncs;
  passes: readonly Pass[];
  loads: readonly [number, number];
};

const goalsOf = ({ rounds, latencies: { start, createRoom, open }, wal, syncs, passes }: Results): Goal[] => {
  const ratios = (one: string, other: string) =>
    divideRates(rounds.all(one, 32, "rate"), rounds.all(other, 32, "rate"));
  const bytes = wal.flatMap(({ name, statementBytes }) => (name === START_REFUSED ? [statementBytes] : []));
  return [
    {
      name: "starting calls / opening sessions, both with an Idempotency-Key",
      least: 0.4,
      ratios: ratios(START_CLAIMED, OPEN_CLAIMED),
    },
    {
      name: "one start without CreateRoom − opening one session",
      most: 2,
      unit: "ms",
      ratios: [start - createRoom - open],
    },
    {
      name: "refusal at the limit (429) / refused session (402)",
      least: 0.8,
      ratios: ratios(START_REFUSED, REFUSED),
    },
    { name: "write-ahead log of the refusals at the limit", most: 0, unit: "bytes", ratios: bytes },
    {
      name: `syncs of ${SYNCED.count / CALLS_PER_WORKER} workers with ${CALLS_PER_WORKER} calls each, service and database`,
      most: 15,
      unit: "% of a core",
      ratios: [syncs.servicePercent + syncs.databasePercent],
    },
    { name: "rows written for each of their calls", most: 1, unit: "each 10 s", ratios: [syncs.rows] },
    {
      name: `a pass of the reconciler over ${number(RECONCILED.count)} calls of ${number(RECONCILED.keys)} keys, processor time`,
      most: 50,
      unit: "ms",
      ratios: passes.map(({ processMs, databaseMs }) => processMs + databaseMs),
    },
  ];
};

const textOf = (results: Results): string => {
  const { rows, rounds, latencies, wal, syncs, passes, loads } = results;
  const ms = (value: number): string => `${value.toFixed(1)} ms`;
  return [
    goalTable(goalsOf(results)),
    loadText(...loads),
    table(
      ["requests/s at 32 connections", "median [range]", "process, µs", "database, µs"],
      rows.map(({ name }) => [
        name,
        formatRange(rounds.all(name, 32, "rate"), number),
        micros(rounds.median(name, 32, "serverCpu")),
        micros(rounds.median(name, 32, "databaseCpu")),
      ]),
    ),
    ...rounds.failures(),
    table(
      ["write-ahead log", "requests", "bytes of their statements", "bytes/s of the whole server"],
      wal.map(({ name, seconds, requests, serverBytes, statementBytes }) => [
        ...[name, number(requests), number(statementBytes), number(serverBytes / seconds)],
      ]),
    ),
    table(
      ["other measurement", "value"],
      [
        ["one start, p50", ms(latencies.start)],
        ["of it CreateRoom, measured alone, p50", ms(latencies.createRoom)],
        ["opening one session, p50", ms(latencies.open)],
        ["syncs a second", number(syncs.syncsPerSecond)],
        ["their service", `${syncs.servicePercent.toFixed(1)} % of a core`],
        ["their database", `${syncs.databasePercent.toFixed(1)} % of a core`],
        [
          "a pass: processor time of the process",
          formatRange(
            passes.map(({ processMs }) => processMs),
            ms,
          ),
        ],
        [
          "a pass: processor time of the database",
          formatRange(
            passes.map(({ databaseMs }) => databaseMs),
            ms,
          ),
        ],
        [
          "a pass: on the clock, without LiveKit's list",
          formatRange(
            passes.map(({ wallMs }) => wallMs),
            ms,
          ),
        ],
      ],
    ),
  ].join("\n\n");
};

/** Measures the reconciler first, because it reads all open sessions, including those that the loads leave open. */
const measureIn = async (
  database: Database,
  options: Options,
  progress: Progress,
  service: Process,
  livekit: Process,
): Promise<Results> => {
  const before = loadavg()[0] ?? 0;
  const { db } = database;
  const world = await seedWorld(db);
  const instance = await readInstance(db);
  const line = world.many[0] as Line;
  const reconciled = await seedCalls(db, line.caller, instance, RECONCILED);
  const passes = await measurePasses(database, instance, reconciled, options.rounds ?? PASS_ROUNDS);
  progress.step("reconciler");
  const syncs = await measureSyncs(database, service, SECRET, await seedCalls(db, line.caller, instance, SYNCED));
  progress.step("syncs");
  const warmUpSeconds = Math.min(options.warmUpSeconds, options.seconds);
  const rows = rowsOf(database, service, world, options.seconds);
  const bench = { database, options };
  const rounds = await measureRows(bench, rows, progress, {
    ...{ rounds: options.rounds, warmUpSeconds, reservedSeconds: AFTER_ROUNDS_SECONDS },
  });
  await freeSlots(db, STARTS_PER_SECOND);
  const rooms = createRooms({ url: livekit.url, apiKey: "bench", apiSecret: new Secret(SECRET) });
  const latencies = await measureLatency(service, rooms, startOf(line), openOf(line));
  const refused = rows.filter(({ isRefused }) => isRefused);
  const wal = await measureWal(bench, refused, options.seconds);
  return { rows, rounds, latencies, wal, syncs, passes, loads: [before, loadavg()[0] ?? 0] };
};

/** Measures calls, prints the tables and, if asked to, writes them to docs/. */
export const benchCalls = async (options: Options, progress: Progress): Promise<void> => {
  progress.begin("calls");
  const database = await openDatabase();
  const { folder, url } = database;
  buildService();
  const livekit = await startServer(folder, "livekit", url);
  const service = await startService(folder, "service", url, {
    LIVEKIT_URL: livekit.url.replace("http", "ws"),
    LIVEKIT_API_KEY: "bench",
    LIVEKIT_API_SECRET: SECRET,
    AVATAR_WORKER_SECRET: SECRET,
    SESSION_START_SECONDS: `${LEASE_SECONDS}`,
    SESSION_LEASE_SECONDS: `${LEASE_SECONDS}`,
  });
  try {
    const results = await measureIn(database, options, progress, service, livekit);
    const text = textOf(results);
    print(`\n${text}`);
    if (!options.isWritten) return;
    await writeBlock("docs/performance.md", "calls", text);
  } finally {
    await service.end();
    await livekit.end();
    await database.close();
  }
};
