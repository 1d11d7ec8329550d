/**
 * The part `routes` of the benchmark: each operation of the API compared with that of a first version (bench/first), at
 * 32 connections.
 */
import { loadavg } from "node:os";
import type { Contestant } from "../contestants.ts";
import { divideRates, formatRange } from "../credits/goals.ts";
import { LEASE_SECONDS } from "../credits/world.ts";
import { type Database, openDatabase } from "../database.ts";
import { median, type Process, type Request, wrk } from "../machine.ts";
import { measure, Rounds } from "../measure.ts";
import type { Options } from "../options.ts";
import { buildService, startServer, startService } from "../processes.ts";
import { type Progress, print } from "../progress.ts";
import { loadText, micros, number, table, writeBlock } from "../report.ts";
import { CONNECTIONS, MEASURED } from "./operations.ts";
import { writePicture } from "./picture.ts";
import { seedRoutes, type World } from "./world.ts";

const TYPICAL = 32;
/** Seconds of the warm-up of each server with each request. */
const WARM_UP_SECONDS = 4;
const connectionsOf = (operation: string): number => CONNECTIONS[operation] ?? TYPICAL;
const firstOf = (operation: string): string => `first: ${operation}`;

type Servers = { service: Process; first: Process };

const withServers = async ({ folder, url }: Database, work: (servers: Servers) => Promise<Rounds>): Promise<Rounds> => {
  buildService();
  const livekit = await startServer(folder, "livekit", url);
  const secret = "a-secret-of-avatar-workers-and-of-LiveKit";
  const service = await startService(folder, "service", url, {
    ...{ SESSION_START_SECONDS: `${LEASE_SECONDS}`, SESSION_LEASE_SECONDS: `${LEASE_SECONDS}` },
    ...{ MAX_ASSETS_PER_TENANT: "1000000", MAX_ASSET_BYTES_PER_TENANT: `${10 ** 15 - 1}` },
    ...{ LIVEKIT_URL: livekit.url.replace("http", "ws"), LIVEKIT_API_KEY: "bench", LIVEKIT_API_SECRET: secret },
    AVATAR_WORKER_SECRET: secret,
  });
  const first = await startServer(folder, "first", url, livekit.url);
  try {
    return await work({ service, first });
  } finally {
    for (const process of [service, first, livekit]) await process.end();
  }
};

/** The request of a person as a page of `service` sends it. */
const fromPage = (request: Request, service: Process): Request => {
  const { cookie, ...headers } = request.headers;
  if (cookie === undefined) return request;
  const { port } = new URL(service.url);
  const page = { origin: `http://localhost:${port}`, cookie: `realtime-avatar-session-${port}=${cookie}` };
  return { ...request, headers: { ...headers, ...page } };
};

/** An operation, at one of the servers. */
const contestantOf = (
  operation: string,
  world: World,
  { service, first }: Servers,
  { seconds, isFirst }: { seconds: number; isFirst: boolean },
): Contestant => {
  const load = MEASURED[operation]?.(world);
  if (!load) throw new Error(`${operation} has no load`);
  return {
    name: isFirst ? firstOf(operation) : operation,
    server: isFirst ? first : service,
    prepare: async (supply) => fromPage(typeof load === "function" ? await load(seconds * supply) : load, service),
  };
};

const measureRoutes = async (
  database: Database,
  options: Options,
  progress: Progress,
  operations: readonly string[],
): Promise<Rounds> => {
  const world = await seedRoutes(database.db);
  const bench = { database, options };
  const rounds = new Rounds();
  return withServers(database, async (servers) => {
    const warm = MEASURED["GET /avatars/{id}"]?.(world) as Request;
    for (const { url } of Object.values(servers)) await wrk(database.folder, url, warm, TYPICAL, WARM_UP_SECONDS);
    await progress.rounds(options.rounds, 0, async (round) => {
      await database.db.run("vacuum analyze", []);
      for (const operation of operations) {
        progress.step(`${round}: ${operation}, ${operations.indexOf(operation) + 1} of ${operations.length}`);
        for (const isFirst of [false, true]) {
          const { seconds } = options;
          const contestant = contestantOf(operation, world, servers, { seconds, isFirst });
          await measure(bench, rounds, contestant, connectionsOf(operation));
        }
      }
    });
    return rounds;
  });
};

const reportOf = (rounds: Rounds, operations: readonly string[], loadBefore: number): string => {
  const row = (operation: string): string[] => {
    const names = [operation, firstOf(operation)];
    const connections = connectionsOf(operation);
    const [own, first] = names.map((name) => rounds.all(name, connections, "rate"));
    const cpus = names.map((name) =>
      micros(rounds.median(name, connections, "serverCpu") + rounds.median(name, connections, "databaseCpu")),
    );
    return [
      connections === TYPICAL ? operation : `${operation}, ${connections} connections`,
      formatRange(divideRates(own ?? [], first ?? []), (ratio) => ratio.toFixed(2)),
      ...names.map((name) => number(rounds.rate(name, connections))),
      ...cpus,
    ];
  };
  return [
    loadText(loadBefore),
    table(
      [`at ${TYPICAL} connections`, "ratio", "requests/s", "first", "processor time, µs", "first, µs"],
      operations.map(row),
    ),
    ...rounds.failures(),
  ].join("\n\n");
};

/** Measures the operations whose names contain `only`, prints the table and, if asked to, writes it and the picture to docs/. */
export const benchRoutes = async (options: Options, progress: Progress): Promise<void> => {
  progress.begin("routes");
  const operations = Object.keys(MEASURED).filter((operation) => operation.includes(options.only));
  if (operations.length === 0) return;
  const loadBefore = loadavg()[0] ?? 0;
  const database = await openDatabase();
  const rounds = await measureRoutes(database, options, progress, operations);
  await database.close();
  const report = reportOf(rounds, operations, loadBefore);
  print(`\n${report}`);
  if (!options.isWritten) return;
  const ratioOf = (operation: string): number => {
    const [own = [], first = []] = [operation, firstOf(operation)].map((name) =>
      rounds.all(name, connectionsOf(operation), "rate"),
    );
    return median(divideRates(own, first));
  };
  await writePicture(operations.map((name) => ({ name, ratio: ratioOf(name) })).filter(({ ratio }) => ratio > 0));
  await writeBlock("docs/performance.md", "routes", report);
};
