/** The measurements: rates and processor time, latency, statements, memory, and rates by table size. */
import type { Contestant } from "./contestants.ts";
import { countStatements, type Database, trackStatements } from "./database.ts";
import { cpuOf, cpuOfFamily, median, openLoop, pgbench, type Request, residentMiB, wrk } from "./machine.ts";
import type { Options } from "./options.ts";
import type { Processes } from "./processes.ts";
import type { Progress } from "./progress.ts";

export type Bench = {
  options: Options;
  progress: Progress;
  database: Database;
  processes: Processes;
  contestants: readonly Contestant[];
};

/** Connections of a load whose rate is not reported. */
export const WARM_UP_CONNECTIONS = 64;
const SEQUENTIAL_REQUESTS = 200;

/** What a load needs. */
export type LoadBench = { database: Database; options: Pick<Options, "seconds"> };

/** Returns the requests per second and their number. Throws on unexpected errors, or if expected errors are missing. */
const load = async (
  { database: { folder, url } }: LoadBench,
  { name, server, request, isRefused = false, isClaimed = false, script }: Contestant,
  connections: number,
  seconds: number,
): Promise<{ rate: number; count: number }> => {
  if (script) return pgbench(folder, url, script, connections, seconds);
  const { rate, refused } = await wrk(folder, server?.url ?? "", request as Request, connections, seconds, isClaimed);
  if (rate === 0) throw new Error(`${name} responded to nothing: the machine is too busy`);
  if (refused > 0 !== isRefused) throw new Error(`${name} returned unexpected statuses`);
  const count = rate * seconds;
  if (request?.isEachPathOnce && count > (request.paths?.length ?? 0)) throw new Error(`${name} ran out of paths`);
  return { rate, count };
};

/** A contestant with the request of its next load. */
const prepared = async (contestant: Contestant): Promise<Contestant> =>
  contestant.prepare ? { ...contestant, request: await contestant.prepare() } : contestant;

/** Loads a contestant once. Returns and throws the same as `load`. */
export const loadOnce = async (
  bench: LoadBench,
  contestant: Contestant,
  connections: number,
  seconds: number,
): Promise<{ rate: number; count: number }> => load(bench, await prepared(contestant), connections, seconds);

/** Requests per second; seconds of processor time per request, of the server's process and of the database. */
type Figures = { rate: number; serverCpu: number; databaseCpu: number };

/** The figures of each round, by label and number of connections. */
export class Rounds {
  readonly #figures = new Map<string, Figures[]>();

  add(label: string, connections: number, figures: Figures): void {
    const key = `${label}|${connections}`;
    this.#figures.set(key, [...(this.#figures.get(key) ?? []), figures]);
  }

  all(label: string, connections: number, figure: keyof Figures): number[] {
    return (this.#figures.get(`${label}|${connections}`) ?? []).map((figures) => figures[figure]);
  }

  median(label: string, connections: number, figure: keyof Figures): number {
    return median(this.all(label, connections, figure));
  }

  rate(label: string, connections: number): number {
    return this.median(label, connections, "rate");
  }

  toJSON(): object {
    return Object.fromEntries(this.#figures);
  }
}

/** Marks the keys that a load has created as ended: the quota counts a tenant's active keys for each one that is created. */
const endCreatedKeys = ({ database: { db } }: LoadBench): Promise<unknown> =>
  db.run("update api_keys set ended_at = now() where ended_at is null and cardinality(lineage) > 0", []);

/** Loads a contestant once, and adds its figures to `rounds`. */
export const measure = async (
  bench: LoadBench,
  rounds: Rounds,
  unprepared: Contestant,
  connections: number,
  label = unprepared.name,
): Promise<void> => {
  const { database, options } = bench;
  const contestant = await prepared(unprepared);
  const { server } = contestant;
  if (contestant.name.startsWith("POST /api-keys")) await endCreatedKeys(bench);
  const cpu = async () => ({
    server: server === undefined ? 0 : await cpuOf(server.pid),
    database: await cpuOfFamily(database.pid),
  });
  const before = await cpu();
  const { rate, count } = await load(bench, contestant, connections, options.seconds);
  const after = await cpu();
  rounds.add(label, connections, {
    rate,
    serverCpu: (after.server - before.server) / count,
    databaseCpu: (after.database - before.database) / count,
  });
};

/** Of the time of the requests, what is left for latencies, statements and memory, in seconds. */
const AFTER_ROUNDS_SECONDS = 70;

/** Measures every contestant with each number of connections, one after another, in several rounds. */
export const measureRounds = async (bench: Bench): Promise<Rounds> => {
  const { contestants, options, progress } = bench;
  const rounds = new Rounds();
  for (const contestant of contestants) {
    progress.step(`warm-up of ${contestant.name}`);
    if (!contestant.script) await load(bench, contestant, WARM_UP_CONNECTIONS, options.warmUpSeconds);
  }
  await progress.rounds(options.rounds, AFTER_ROUNDS_SECONDS, async (round) => {
    for (const connections of options.connections) {
      for (const contestant of contestants) {
        progress.step(`${round}: ${contestant.name} at ${connections}`);
        await measure(bench, rounds, contestant, connections);
      }
    }
  });
  return rounds;
};

export type Latency = { name: string; rate: number; percentiles: Awaited<ReturnType<typeof openLoop>> };

/** Latencies in an open loop at half of the rate of so many connections: at more, the generator is the limit. */
export const measureLatencies = async (bench: Bench, rounds: Rounds): Promise<Latency[]> => {
  const { contestants, options, processes, progress } = bench;
  const latencies: Latency[] = [];
  for (const { name, server, request, isRefused, isClaimed } of contestants) {
    // `above` is included to show how the generator and the machine alone affect the tail latencies.
    if ((server !== processes.service && server !== processes.above) || !request || isRefused || isClaimed) continue;
    const rate = rounds.rate(name, options.typicalConnections) / 2;
    progress.step(`latency of ${name}`);
    const percentiles = await openLoop(server.url, request, rate, Math.max(4, options.seconds * 2));
    latencies.push({ name, rate, percentiles });
  }
  return latencies;
};

/** Statements per request: of sequential requests, and of concurrent ones. */
export type StatementCount = { name: string; sequential: number; concurrent: number };

export const measureStatements = async (bench: Bench): Promise<StatementCount[]> => {
  const { contestants, database, options, processes, progress } = bench;
  const counts: StatementCount[] = [];
  await trackStatements(database.db, "top");
  await Bun.sleep(500);
  for (const contestant of contestants) {
    const { name, server, request } = contestant;
    if (!server || !request) continue;
    if (![processes.service, processes.first].includes(server)) continue;
    progress.step(`statements of ${name}`);
    await countStatements(database.db);
    for (let sent = 0; sent < SEQUENTIAL_REQUESTS; sent++) {
      await (await fetch(server.url + request.path, request)).arrayBuffer();
    }
    const sequential = (await countStatements(database.db)) / SEQUENTIAL_REQUESTS;
    const { count } = await load(bench, contestant, options.typicalConnections, 1);
    counts.push({ name, sequential, concurrent: (await countStatements(database.db)) / count });
  }
  await trackStatements(database.db, "none");
  return counts;
};

/** The service's resident memory after this number of requests, of all kinds. */
export type Memory = { requests: number; mebibytes: number };

export const measureMemory = async (bench: Bench): Promise<Memory[]> => {
  const { contestants, options, processes, progress } = bench;
  const memory: Memory[] = [];
  const mixed = contestants.filter(({ server }) => server === processes.service);
  let requests = 0;
  while (mixed.length > 0 && requests < options.requests) {
    progress.step("memory");
    for (const contestant of mixed) requests += (await load(bench, contestant, WARM_UP_CONNECTIONS, 2)).count;
    memory.push({ requests, mebibytes: await residentMiB(processes.service.pid) });
  }
  return memory;
};
