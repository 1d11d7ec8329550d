/** The measurements: rates and processor time, latency, statements, memory, and rates by table size. */
import { attempt, CannotMeasure, RanOut, withSupply } from "./cannot-measure.ts";
import type { Contestant } from "./contestants.ts";
import { countStatements, type Database, trackStatements } from "./database.ts";
import { cpuOfFamily, median, openLoop, pgbench, type Request, readCpu, residentMiB, wrk } from "./machine.ts";
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

/** The database of a load, and its duration. */
export type LoadBench = { database: Database; options: Pick<Options, "seconds"> };

/**
 * Returns the requests per second and their number. Throws `CannotMeasure` on unexpected errors and if expected errors
 * are missing, and `RanOut` if a load has used its paths, or another supply.
 */
const load = async (
  { database: { folder, url } }: LoadBench,
  { server, request, isRefused = false, isClaimed = false, script, prepare }: Contestant,
  connections: number,
  seconds: number,
): Promise<{ rate: number; count: number }> => {
  if (script) return pgbench(folder, url, script, connections, seconds);
  const { rate, refused } = await wrk(folder, server?.url ?? "", request as Request, connections, seconds, isClaimed);
  if (rate === 0) throw new CannotMeasure("no response: the machine is too busy");
  const count = rate * seconds;
  const paths = request?.isEachPathOnce ? (request.paths?.length ?? 0) : Number.POSITIVE_INFINITY;
  if (count > paths) throw new RanOut(`it ran out of ${paths} paths`);
  if (refused > 0 !== isRefused) {
    const reason = isRefused ? "requests that should be refused were not" : `${refused} requests were refused`;
    throw prepare ? new RanOut(reason) : new CannotMeasure(reason);
  }
  return { rate, count };
};

/**
 * Runs `work` with a contestant that has the request of its next load. When the supply runs out, runs it again with
 * more.
 */
const withPrepared = <Result>(contestant: Contestant, work: (prepared: Contestant) => Promise<Result>) => {
  const { name, prepare } = contestant;
  if (!prepare) return work(contestant);
  return withSupply(name, async (supply) => work({ ...contestant, request: await prepare(supply) }));
};

/** Loads a contestant once. Returns and throws the same as `load`. */
export const loadOnce = (
  bench: LoadBench,
  contestant: Contestant,
  connections: number,
  seconds: number,
): Promise<{ rate: number; count: number }> =>
  withPrepared(contestant, (prepared) => load(bench, prepared, connections, seconds));

/** Loads a contestant before the rounds. Failures are ignored, because the rounds report them. */
export const warmUp = async (...parameters: Parameters<typeof loadOnce>): Promise<void> => {
  await attempt(`warm-up of ${parameters[1].name}`, () => loadOnce(...parameters));
};

/** Requests per second; seconds of processor time per request, of the server's process and of the database. */
type Figures = { rate: number; serverCpu: number; databaseCpu: number };

/** The figures of each round, by label and number of connections, and the reasons for missing figures. */
export class Rounds {
  readonly #figures = new Map<string, Figures[]>();
  readonly #failures = new Map<string, string>();

  add(label: string, connections: number, figures: Figures): void {
    const key = `${label}|${connections}`;
    this.#figures.set(key, [...(this.#figures.get(key) ?? []), figures]);
  }

  all(label: string, connections: number, figure: keyof Figures): number[] {
    return (this.#figures.get(`${label}|${connections}`) ?? []).map((figures) => figures[figure]);
  }

  /** NaN when no round was measured. */
  median(label: string, connections: number, figure: keyof Figures): number {
    const all = this.all(label, connections, figure);
    return all.length === 0 ? Number.NaN : median(all);
  }

  /** Records the reason why a round was not measured. */
  fail(label: string, connections: number, reason: string): void {
    this.#failures.set(`${label} at ${connections}`, reason);
  }

  /** Paragraphs of a report that name the rows with a round that was not measured; empty when all were measured. */
  failures(): string[] {
    const lines = [...this.#failures].map(([row, reason]) => `- ${row}: ${reason}`);
    return lines.length === 0 ? [] : ["Not measured, at least in one round:", lines.join("\n")];
  }

  rate(label: string, connections: number): number {
    return this.median(label, connections, "rate");
  }
}

/** Ends the keys that a load has created, because each creation counts the active keys of the tenant for the quota. */
const endCreatedKeys = ({ database: { db } }: LoadBench): Promise<unknown> =>
  db.run("update api_keys set ended_at = now() where ended_at is null and cardinality(lineage) > 0", []);

/** The figures of one load. */
const figuresOf = async (bench: LoadBench, contestant: Contestant, connections: number): Promise<Figures> => {
  const { database, options } = bench;
  const { server } = contestant;
  if (contestant.name.startsWith("POST /api-keys")) await endCreatedKeys(bench);
  const cpu = async () => ({
    server: server === undefined ? 0 : await readCpu(server.pid),
    database: await cpuOfFamily(database.pid),
  });
  const before = await cpu();
  const { rate, count } = await load(bench, contestant, connections, options.seconds);
  const after = await cpu();
  return {
    rate,
    serverCpu: (after.server - before.server) / count,
    databaseCpu: (after.database - before.database) / count,
  };
};

/** Loads a contestant once, and adds to `rounds` its figures or the reason for missing figures. */
export const measure = async (
  bench: LoadBench,
  rounds: Rounds,
  contestant: Contestant,
  connections: number,
  label = contestant.name,
): Promise<void> => {
  const figures = await attempt(
    `${label} at ${connections}`,
    () => withPrepared(contestant, (prepared) => figuresOf(bench, prepared, connections)),
    (reason) => rounds.fail(label, connections, reason),
  );
  if (figures) rounds.add(label, connections, figures);
};

/** The part of the time of the requests that is reserved for latencies, statements and memory, in seconds. */
const AFTER_ROUNDS_SECONDS = 70;

/** Measures every contestant with each number of connections, one after another, in several rounds. */
export const measureRounds = async (bench: Bench): Promise<Rounds> => {
  const { contestants, options, progress } = bench;
  const rounds = new Rounds();
  for (const contestant of contestants) {
    progress.step(`warm-up of ${contestant.name}`);
    if (!contestant.script) await warmUp(bench, contestant, WARM_UP_CONNECTIONS, options.warmUpSeconds);
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

/** `percentiles`: null when the machine cannot measure them, for `reason`. */
export type Latency = {
  name: string;
  rate: number;
  percentiles: Awaited<ReturnType<typeof openLoop>> | null;
  reason: string;
};

/**
 * Latencies in an open loop at half of the rate of these connections. At higher rates, the generator would be the
 * limit.
 */
export const measureLatencies = async (bench: Bench, rounds: Rounds): Promise<Latency[]> => {
  const { contestants, options, processes, progress } = bench;
  const latencies: Latency[] = [];
  for (const { name, server, request, isRefused, isClaimed } of contestants) {
    // `above` is included to show how the generator and the machine alone affect the tail latencies.
    if ((server !== processes.service && server !== processes.above) || !request || isRefused || isClaimed) continue;
    const rate = rounds.rate(name, options.typicalConnections) / 2;
    progress.step(`latency of ${name}`);
    const latency: Latency = { name, rate, percentiles: null, reason: "its rate is unknown" };
    latencies.push(latency);
    if (Number.isNaN(rate)) continue;
    latency.percentiles = await attempt(
      `latency of ${name}`,
      () => openLoop(server.url, request, rate, Math.max(4, options.seconds * 2)),
      (reason) => Object.assign(latency, { reason }),
    );
  }
  return latencies;
};

/** Statements per request: for sequential requests, and for concurrent ones. */
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
    const loaded = await attempt(`statements of ${name}`, () =>
      loadOnce(bench, contestant, options.typicalConnections, 1),
    );
    const statements = await countStatements(database.db);
    counts.push({ name, sequential, concurrent: loaded ? statements / loaded.count : Number.NaN });
  }
  await trackStatements(database.db, "none");
  return counts;
};

/** The service's resident memory after this number of requests of all kinds. */
export type Memory = { requests: number; mebibytes: number };

export const measureMemory = async (bench: Bench): Promise<Memory[]> => {
  const { contestants, options, processes, progress } = bench;
  const memory: Memory[] = [];
  const mixed = contestants.filter(({ server }) => server === processes.service);
  let requests = 0;
  while (mixed.length > 0 && requests < options.requests) {
    progress.step("memory");
    const before = requests;
    for (const contestant of mixed) {
      const loaded = await attempt(`memory, ${contestant.name}`, () =>
        loadOnce(bench, contestant, WARM_UP_CONNECTIONS, 2),
      );
      requests += loaded?.count ?? 0;
    }
    // All loads have failed, so another load would also fail.
    if (requests === before) return memory;
    memory.push({ requests, mebibytes: await residentMiB(processes.service.pid) });
  }
  return memory;
};
