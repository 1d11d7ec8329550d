/**
 * Benchmark of credits over HTTP, with the functions alone beside it. `bun bench/credits/bench.ts` runs it by itself, on a
 * PostgreSQL of its own with default durability; `bun run bench` runs it as its last part. Requires wrk and pgbench.
 *
 * `--short` measures everything once, for a moment: whether it runs at all. `--minutes` is the length of the long load.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Database, openDatabase } from "../database.ts";
import { print } from "../measure.ts";
import { buildService, startServer, startService } from "../processes.ts";
import { writeBlock } from "../report.ts";
import { rowsOf, SELF, type Servers } from "./contestants.ts";
import { measureFunctions } from "./functions.ts";
import { goalTable } from "./goals.ts";
import { hotShares, measureMinutes, measureRows, measureWal } from "./measure.ts";
import { type CreditResults, creditReportOf, goalsOf } from "./report.ts";
import { LEASE_SECONDS, seedWorld } from "./world.ts";

/** More releases a second than any machine makes. */
const RELEASES_PER_SECOND = 6000;

/** The functions vary less than requests over HTTP. */
const FUNCTION_ROUNDS = 3;

export type CreditOptions = {
  /** Duration of each load. */
  seconds: number;
  rounds: number;
  warmUpSeconds: number;
  /** Length of the long load. */
  minutes: number;
  /** Measures only rows whose names contain this text. */
  only: string;
  /** Whether to measure the functions alone as well. */
  withFunctions: boolean;
  isWritten: boolean;
};

const SHORT: Partial<CreditOptions> = { seconds: 1, rounds: 1, warmUpSeconds: 1, minutes: 0 };

/** Starts the servers, gives them to `work`, and ends them. Sessions are never overdue. */
const withServers = async <Result>(
  folder: string,
  databaseUrl: string,
  work: (servers: Servers) => Promise<Result>,
): Promise<Result> => {
  buildService();
  const lease = { SESSION_START_SECONDS: `${LEASE_SECONDS}`, SESSION_LEASE_SECONDS: `${LEASE_SECONDS}` };
  const service = await startService(folder, "service", databaseUrl, lease);
  const first = await startServer(folder, "credits", databaseUrl);
  try {
    return await work({ service, first });
  } finally {
    await service.end();
    await first.end();
  }
};

const textOf = (results: CreditResults): string => `${goalTable(goalsOf(results))}\n\n${creditReportOf(results)}`;

const measureIn = async (folder: string, database: Database, options: CreditOptions): Promise<CreditResults> => {
  const { seconds, rounds, only, minutes, withFunctions } = options;
  const before = loadavg()[0] ?? 0;
  // First, while the tables are small.
  const functions = withFunctions
    ? await measureFunctions(database.url, folder, { seconds, rounds: Math.min(rounds, FUNCTION_ROUNDS) })
    : { goals: [], tables: "" };
  const world = await seedWorld(database);
  const results = await withServers(folder, database.url, async (servers): Promise<CreditResults> => {
    const bench = { folder, database, options };
    const all = rowsOf(world, servers, RELEASES_PER_SECOND * seconds, "");
    const rows = rowsOf(world, servers, RELEASES_PER_SECOND * seconds, only);
    const reference = all.find(({ name }) => name === SELF)?.request;
    if (!reference) throw new Error("there is no load for reference");
    const results: CreditResults = {
      rows,
      functions,
      rounds: await measureRows(bench, rows, options),
      wal: [],
      minutes: [],
      hotShares: new Map(),
      loads: [before, loadavg()[0] ?? 0],
    };
    // Before the long load, so that these figures survive whatever happens to it.
    print(`\n${textOf(results)}\n`);
    if (only === "") results.wal = await measureWal(bench, all);
    results.minutes = await measureMinutes(bench, world, servers, reference, minutes);
    results.hotShares = await hotShares(database.db);
    return results;
  });
  await world.close();
  return results;
};

/** Measures, prints the tables and, if asked to, writes them to docs/. */
export const benchCredits = async (options: CreditOptions): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-bench-"));
  // PostgreSQL may run as another user.
  await chmod(folder, 0o755);
  const database = await openDatabase(folder);
  const results = await measureIn(folder, database, options);
  await database.close();
  print(`\n${textOf(results)}`);
  if (options.isWritten) {
    await writeBlock("docs/credits.md", "goals", goalTable(goalsOf(results)));
    await writeBlock("docs/performance.md", "credits", creditReportOf(results));
  }
  await rm(folder, { recursive: true });
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: "2" },
      rounds: { type: "string", default: "5" },
      "warm-up": { type: "string", default: "4" },
      minutes: { type: "string", default: "10" },
      only: { type: "string", default: "" },
      functions: { type: "boolean", default: false },
      short: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
    },
  });
  await benchCredits({
    seconds: Number(values.seconds),
    rounds: Number(values.rounds),
    warmUpSeconds: Number(values["warm-up"]),
    minutes: Number(values.minutes),
    only: values.only,
    withFunctions: values.functions,
    isWritten: values.write,
    ...(values.short ? SHORT : {}),
  });
}
