/** The parts `functions` and `credits` of the benchmark: credits over HTTP, and the functions alone. Requires pgbench. */
import { loadavg } from "node:os";
import { type Database, openDatabase } from "../database.ts";
import { print } from "../measure.ts";
import type { Options } from "../options.ts";
import { buildService, startServer, startService } from "../processes.ts";
import { writeBlock } from "../report.ts";
import { REFUSED, rowsOf, SELF, type Servers } from "./contestants.ts";
import { measureFunctions } from "./functions.ts";
import { goalTable } from "./goals.ts";
import { hotShares, measureMinutes, measureRows, measureWal } from "./measure.ts";
import { type CreditResults, creditReportOf, goalsOf } from "./report.ts";
import { LEASE_SECONDS, seedWorld } from "./world.ts";

/** More releases a second than any machine makes. */
const RELEASES_PER_SECOND = 6000;

/** Starts the servers, gives them to `work`, and ends them. Sessions are never overdue. */
const withServers = async <Result>(
  { folder, url }: Database,
  work: (servers: Servers) => Promise<Result>,
): Promise<Result> => {
  buildService();
  const lease = { SESSION_START_SECONDS: `${LEASE_SECONDS}`, SESSION_LEASE_SECONDS: `${LEASE_SECONDS}` };
  const service = await startService(folder, "service", url, lease);
  const first = await startServer(folder, "credits", url);
  try {
    return await work({ service, first });
  } finally {
    await service.end();
    await first.end();
  }
};

const textOf = (results: CreditResults): string => `${goalTable(goalsOf(results))}\n\n${creditReportOf(results)}`;

const measureIn = async (
  database: Database,
  options: Options,
  before: number,
  functions: CreditResults["functions"],
): Promise<CreditResults> => {
  const { seconds, only, minutes } = options;
  const world = await seedWorld(database);
  const results = await withServers(database, async (servers): Promise<CreditResults> => {
    const bench = { database, options };
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
    if (only === "")
      results.wal = await measureWal(
        bench,
        all.filter(({ name }) => name === SELF || name === REFUSED),
      );
    results.minutes = await measureMinutes(bench, world, servers, reference, minutes);
    results.hotShares = await hotShares(database.db);
    return results;
  });
  await world.close();
  return results;
};

/** Measures the parts of `options`, prints the tables and, if asked to, writes them to docs/. */
export const benchCredits = async (options: Options): Promise<void> => {
  const before = loadavg()[0] ?? 0;
  const database = await openDatabase();
  // First, while the tables are small.
  const functions = options.parts.includes("functions")
    ? await measureFunctions(database, options)
    : { goals: [], tables: "" };
  if (options.parts.includes("credits")) {
    const results = await measureIn(database, options, before, functions);
    print(`\n${textOf(results)}`);
    if (options.isWritten) {
      await writeBlock("docs/credits.md", "goals", goalTable(goalsOf(results)));
      await writeBlock("docs/performance.md", "credits", creditReportOf(results));
    }
  } else print(`\n${goalTable(functions.goals)}\n\n${functions.tables}`);
  await database.close();
};
