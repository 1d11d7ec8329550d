/** The report of the benchmark: tables in Markdown. */
import { readFile, writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { join } from "node:path";
import { BELOW, type Contestant, OWN } from "./contestants.ts";
import { median, ROOT } from "./machine.ts";
import type { Latency, Memory, Rounds, StatementCount } from "./measure.ts";
import type { Options } from "./options.ts";

export type Results = {
  options: Options;
  contestants: readonly Contestant[];
  rounds: Rounds;
  latencies: readonly Latency[];
  statements: readonly StatementCount[];
  memory: { restMiB: number; loadedMiB: number; later: readonly Memory[] };
  /** Milliseconds from start to ready. */
  startUps: readonly number[];
  /** The load of the machine at the start. */
  loadBefore: number;
};

/** A figure as text. NaN means not measured, and is shown so. */
const figure =
  (format: (value: number) => string) =>
  (value: number): string =>
    Number.isFinite(value) ? format(value) : "not measured";

export const number = figure((value) => Math.round(value).toLocaleString("en-US"));
/** Microseconds, without the unit, which the head of a column names. */
export const micros = figure((seconds) => number(seconds * 1e6));
export const decimals = figure((value) => value.toFixed(2));

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, index) => (index === 0 ? "---" : "---:")), ...rows]
    .map((row) => `| ${row.join(" | ")} |`)
    .join("\n");

const headsOf = ({ connections }: Options): string[] =>
  connections.map((count) => `${count} ${count === 1 ? "connection" : "connections"}`);

const rateTable = ({ options, contestants, rounds }: Results): string => {
  /** Half of the range of the rounds' rates, in percent of their median. */
  const spreadOf = (name: string, connections: number): number => {
    const rates = rounds.all(name, connections, "rate");
    return Math.round(((Math.max(...rates) - Math.min(...rates)) / 2 / (median(rates) || 1)) * 100);
  };
  const cell = (name: string, connections: number): string => {
    const rate = number(rounds.rate(name, connections));
    return rounds.all(name, connections, "rate").length < 2 ? rate : `${rate} ±${spreadOf(name, connections)} %`;
  };
  return table(
    ["requests/s", ...headsOf(options)],
    contestants.map(({ name }) => [name, ...options.connections.map((connections) => cell(name, connections))]),
  );
};

const latencyTable = ({ latencies }: Results): string =>
  table(
    ["at half of the rate", "requests/s", "p50, ms", "p99, ms", "p99.9, ms", "p99 / p50"],
    latencies.map(({ name, rate, percentiles, reason }) => {
      if (!percentiles) return [name, number(rate), `not measured: ${reason}`, "", "", ""];
      const { p50, p99, "p99.9": p999 } = percentiles;
      const times = [p50, p99, p999].map((milliseconds) => milliseconds.toFixed(1));
      return [name, number(rate), ...times, (p99 / p50).toFixed(1)];
    }),
  );

const requestTable = ({ options: { typicalConnections }, contestants, rounds, statements }: Results): string =>
  table(
    ["per request", "process, µs", "database, µs", "statements, sequential", `statements at ${typicalConnections}`],
    contestants.map(({ name, script }) => {
      const counts = statements.find((count) => count.name === name);
      return [
        name,
        script ? "" : micros(rounds.median(name, typicalConnections, "serverCpu")),
        micros(rounds.median(name, typicalConnections, "databaseCpu")),
        counts ? decimals(counts.sequential) : "",
        counts ? decimals(counts.concurrent) : "",
      ];
    }),
  );

const otherTable = ({ options, contestants, rounds, memory, startUps }: Results): string => {
  const has = (wanted: string): boolean => contestants.some(({ name }) => name === wanted);
  const single = (name: string): string => `${(1000 / rounds.rate(name, 1)).toFixed(2)} ms`;
  const { restMiB, loadedMiB, later } = memory;
  return table(
    ["other measurement", "value"],
    [
      ...(options.connections.includes(1) && has(OWN) && has("POST /avatars")
        ? [
            ["POST /avatars at 1 connection", single("POST /avatars")],
            ["its two statements at 1 connection, with pgbench", single(OWN)],
            ["one-row insert at 1 connection, with pgbench", single(BELOW)],
          ]
        : []),
      ["resident memory at rest", `${number(restMiB)} MiB`],
      ["after the rounds", `${number(loadedMiB)} MiB`],
      ...later
        .filter((_, index) => index === 0 || index === later.length - 1)
        .map(({ requests, mebibytes }) => [
          `after ${number(requests)} more requests of every kind`,
          `${number(mebibytes)} MiB`,
        ]),
      [`start to ready, with a running database (median of ${startUps.length})`, `${number(median(startUps))} ms`],
    ],
  );
};

/** The whole report, in Markdown. */
export const benchReport = (results: Results): string => {
  const { typicalConnections } = results.options;
  return [
    `Measured on ${new Date().toISOString().slice(0, 10)}. ${loadText(results.loadBefore)} Requests per second: median of the rounds, and half of their range:`,
    rateTable(results),
    ...results.rounds.failures(),
    `Latency at half of the rate of ${typicalConnections} connections, in an open loop: requests are sent without waiting for earlier responses.`,
    latencyTable(results),
    `For each request at ${typicalConnections} connections, the processor time of the process and of the database. Each statement is a round trip to the database:`,
    requestTable(results),
    otherTable(results),
  ].join("\n\n");
};

/** Applies the repository's formatting to a file, also to its tables. */
const format = (path: string): void => {
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, "x", "biome", "check", "--write", path], { cwd: ROOT });
  if (exitCode !== 0) throw new Error(`${path} was not formatted: ${stderr}`);
};

/** Replaces the text of a page between `<!-- name -->` and the next `<!-- end -->`. */
export const writeBlock = async (path: string, name: string, block: string): Promise<void> => {
  const page = join(ROOT, path);
  const text = await readFile(page, "utf8");
  const [before, after] = [`<!-- ${name} -->\n`, "<!-- end -->"];
  const from = text.indexOf(before) + before.length;
  const to = text.indexOf(after, from);
  if (from < before.length || to === -1) throw new Error(`${path} has no place for ${name}`);
  await writeFile(page, `${text.slice(0, from)}\n${block}\n\n${text.slice(to)}`);
  format(path);
};

/** How busy the machine was: the load at the start and at the end, this benchmark included. */
export const loadText = (before: number, after = loadavg()[0] ?? 0): string =>
  `Load of the machine (\`uptime\`): ${before.toFixed(1)} before, ${after.toFixed(1)} after.`;
