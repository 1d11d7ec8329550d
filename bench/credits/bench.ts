/** The parts `functions`, `credits` and `minutes` of the benchmark: credits over HTTP, and the functions alone. Requires pgbench. */
import { loadavg } from "node:os";
import { type Database, openDatabase } from "../database.ts";
import type { Options } from "../options.ts";
import { buildService, startServer, startService } from "../processes.ts";
import { type Progress, print } from "../progress.ts";
import { writeBlock } from "../report.ts";
import { REFUSED, SELF, type Servers, selectRows } from "./contestants.ts";
import { measureFunctions } from "./functions.ts";
import { goalTable } from "./goals.ts";
import { hotShares, measureMinutes, measureRows, measureWal, WAL_SECONDS } from "./measure.ts";
import { type CreditResults, creditGoals, creditReport, minutesReport } from "./report.ts";
import { LEASE_SECONDS, seedWorld, type World } from "./world.ts";

/** Releases a second. A faster machine runs out of sessions, and gets more of them. */
const RELEASES_PER_SECOND = 6000;

/** Starts the servers, runs `work` with them, and ends them. Sessions are never overdue. */
const withServers = async <Result>(
  { folder, url }: Database,
  work: (servers: Servers) => Promise<Result>,
): Promise<Result> => {
  buildService();
  const lease = { SESSION_START_SECONDS: `${LEASE_SECONDS}`, SESSION_LEASE_SECONDS: `${LEASE_SECONDS}` };
  const service = await startService(folder, "service", url, lease);
  const first = await startServer(folder, "first", url);
  try {
    return await work({ service, first });
  } finally {
    await service.end();
    await first.end();
  }
};

const rowsFor = (world: World, servers: Servers, seconds: number, only: string) =>
  selectRows(world, servers, RELEASES_PER_SECOND * seconds, only);

const measureIn = async (
  database: Database,
  options: Options,
  progress: Progress,
  before: number,
  functions: CreditResults["functions"],
): Promise<CreditResults> => {
  const { seconds, only } = options;
  const world = await seedWorld(database);
  const results = await withServers(database, async (servers): Promise<CreditResults> => {
    const bench = { database, options };
    const rows = rowsFor(world, servers, seconds, only);
    const rounds = await measureRows(bench, rows, progress, { ...options, reservedSeconds: 3 * WAL_SECONDS + 5 });
    const wal = await measureWal(
      bench,
      rows.filter(({ name }) => name === SELF || name === REFUSED),
    );
    return { rows, functions, rounds, wal, loads: [before, loadavg()[0] ?? 0] };
  });
  await world.close();
  return results;
};

/** The goals of a run without the functions. */
export const NO_FUNCTIONS: CreditResults["functions"] = { goals: [], tables: "" };

/** Measures the part `functions`, and prints the tables. */
export const benchFunctions = async (options: Options, progress: Progress): Promise<CreditResults["functions"]> => {
  progress.begin("functions");
  const database = await openDatabase();
  const functions = await measureFunctions(database, options, progress);
  await database.close();
  print(`\n${goalTable(functions.goals)}\n\n${functions.tables}\n`);
  return functions;
};

/** Measures the part `credits`, prints the tables with those of `functions` and, if asked to, writes them to docs/. */
export const benchCredits = async (
  options: Options,
  progress: Progress,
  functions: CreditResults["functions"],
): Promise<void> => {
  const before = loadavg()[0] ?? 0;
  progress.begin("credits");
  const database = await openDatabase();
  const results = await measureIn(database, options, progress, before, functions);
  await database.close();
  const [goals, report] = [goalTable(creditGoals(results)), creditReport(results)];
  print(`\n${goals}\n\n${report}`);
  if (!options.isWritten) return;
  await writeBlock("docs/credits.md", "goals", goals);
  await writeBlock("docs/performance.md", "credits", report);
};

/** Measures a load of minutes, prints the table and, if asked to, writes it to docs/. */
export const benchMinutes = async (options: Options): Promise<void> => {
  const database = await openDatabase();
  const world = await seedWorld(database);
  const minutes = await withServers(database, async (servers) => {
    const reference = rowsFor(world, servers, 1, SELF).find(({ name }) => name === SELF)?.request;
    if (!reference) throw new Error("the reference load is missing");
    return measureMinutes({ database, options }, world, servers, reference, options.minutes);
  });
  const text = minutesReport(minutes, await hotShares(database.db));
  await world.close();
  await database.close();
  print(`\n${text}`);
  if (options.isWritten) await writeBlock("docs/performance.md", "minutes", text);
};
