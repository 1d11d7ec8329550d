/**
 * Benchmark of the service and of the limits of its parts: `bun run bench`. Starts a PostgreSQL with default durability and
 * each contestant as a process. Loads them over HTTP, one after another in several rounds. Prints medians, ratios, latency,
 * processor time, statements and memory. Requires wrk; with pgbench it also measures the limit of the database. `--write`
 * writes the tables, their JSON and a chart to docs/. The other options change the size and the duration. `--parts requests`
 * leaves out credits (credits/bench.ts) and calls (calls/bench.ts), `--parts credits`, `--parts functions` or `--parts calls`
 * the rest.
 */
import { benchCalls } from "./calls/bench.ts";
import { contestantsOf } from "./contestants.ts";
import { benchCredits } from "./credits/bench.ts";
import { openDatabase, seedAvatars, seedLists } from "./database.ts";
import { residentMiB } from "./machine.ts";
import { measureLatencies, measureMemory, measureRounds, measureSizes, measureStatements, print } from "./measure.ts";
import { parseOptions } from "./options.ts";
import { startProcesses } from "./processes.ts";
import { reportOf, writeReport } from "./report.ts";

/** Keys and audit events to list. */
const LISTED = 1000;

const options = parseOptions(process.argv.slice(2));
if (!Bun.which("wrk")) throw new Error("wrk is required: apt-get install wrk");

/** Measures the requests of keys, avatars and lists. */
const benchRequests = async (): Promise<void> => {
  const database = await openDatabase();
  const processes = await startProcesses(database.folder, database.url);
  const { service, startUps } = processes;
  const restMiB = await residentMiB(service.pid);
  // The avatars last: the server counts the rows after them. With the counts of a new database it looks up keys badly.
  await seedLists(database, LISTED);
  await seedAvatars(database, 1, options.avatars);
  const contestants = await contestantsOf(database, processes, options.only);

  const bench = { options, database, processes, contestants };
  const rounds = await measureRounds(bench);
  const loadedMiB = await residentMiB(service.pid);
  const latencies = await measureLatencies(bench, rounds);
  const statements = await measureStatements(bench);
  const memory = { restMiB, loadedMiB, later: await measureMemory(bench) };
  const sizes = await measureSizes(bench, rounds);
  const results = { options, contestants, rounds, latencies, statements, sizes, memory, startUps };

  const report = reportOf(results);
  print(`\n${report}`);
  if (options.isWritten) await writeReport(results, report);

  await processes.end();
  await database.close();
};

if (options.parts.includes("requests")) await benchRequests();
if (options.parts.some((part) => part === "functions" || part === "credits")) await benchCredits(options);
if (options.parts.includes("calls")) await benchCalls(options);
