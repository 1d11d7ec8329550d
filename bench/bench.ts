/**
 * Benchmark of the service and of the limits of its parts: `bun run bench`. Starts a PostgreSQL with default durability
 * and each contestant as a process. Loads them over HTTP, one after another in as many rounds as fit into a quarter of
 * an hour, and prints its progress. Prints medians, ratios, latency, processor time, statements and memory. Requires
 * wrk; with pgbench it also measures the limit of the database. A row that the machine cannot measure prints why,
 * without ending the run. `--write` writes the tables and a picture to docs/. The other options change the size and the
 * duration. `--parts` selects the parts: `requests`, `routes`, `functions`, `credits` and `calls` by default, and
 * `minutes` and `growth`, which take longer.
 */
import { loadavg } from "node:os";
import { benchCalls } from "./calls/bench.ts";
import { attempt, requirePrograms } from "./cannot-measure.ts";
import { startContestants } from "./contestants.ts";
import { benchCredits, benchFunctions, benchMinutes, NO_FUNCTIONS } from "./credits/bench.ts";
import { openDatabase, seedAvatars } from "./database.ts";
import { benchGrowth } from "./growth/bench.ts";
import { residentMiB } from "./machine.ts";
import { measureLatencies, measureMemory, measureRounds, measureStatements } from "./measure.ts";
import { type Options, PAGE_SECONDS, parseOptions } from "./options.ts";
import { startProcesses } from "./processes.ts";
import { Progress, print } from "./progress.ts";
import { benchReport, writeBlock } from "./report.ts";
import { benchRoutes } from "./routes/bench.ts";

const options = parseOptions(process.argv.slice(2));

/** Measures the requests of keys and avatars at several numbers of connections, and their limits. */
const benchRequests = async (options: Options, progress: Progress): Promise<void> => {
  progress.begin("requests");
  const loadBefore = loadavg()[0] ?? 0;
  const database = await openDatabase();
  const processes = await startProcesses(database.folder, database.url);
  const { service, startUps } = processes;
  const restMiB = await residentMiB(service.pid);
  // The avatars come last, because the server analyzes the tables after them. With the statistics of a new database it
  // plans the look-up of keys badly.
  await seedAvatars(database, 1, options.avatars);
  const contestants = await startContestants(database, processes, options.only);

  const bench = { options, progress, database, processes, contestants };
  const rounds = await measureRounds(bench);
  const loadedMiB = await residentMiB(service.pid);
  const latencies = await measureLatencies(bench, rounds);
  const statements = await measureStatements(bench);
  const memory = { restMiB, loadedMiB, later: await measureMemory(bench) };
  const results = { options, contestants, rounds, latencies, statements, memory, startUps, loadBefore };

  const report = benchReport(results);
  print(`\n${report}`);
  if (options.isWritten) await writeBlock("docs/performance.md", "measured", report);

  await processes.end();
  await database.close();
};

const { parts } = options;
const progress = new Progress(
  Object.fromEntries(Object.entries(PAGE_SECONDS).filter(([part]) => parts.some((one) => one === part))),
);

/** Runs a part if it is selected. A part that this machine cannot measure prints why. */
const run = async (part: Options["parts"][number], programs: string[], work: () => Promise<void>): Promise<void> => {
  if (!parts.includes(part)) return;
  await attempt(part, async () => {
    requirePrograms(...programs);
    await work();
  });
};

await run("requests", ["wrk"], () => benchRequests(options, progress));
await run("routes", ["wrk"], () => benchRoutes(options, progress));
let functions = NO_FUNCTIONS;
await run("functions", ["pgbench"], async () => {
  functions = await benchFunctions(options, progress);
});
await run("credits", ["wrk", "pgbench"], () => benchCredits(options, progress, functions));
await run("calls", ["wrk"], () => benchCalls(options, progress));
await run("minutes", ["wrk"], () => benchMinutes(options));
await run("growth", ["wrk"], () => benchGrowth(options));
