/** The report of the benchmark: tables in Markdown, their figures as JSON, and a chart. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ABOVE, BELOW, type Contestant, FIRST, OWN } from "./contestants.ts";
import { median, ROOT } from "./machine.ts";
import type { Latency, Memory, Rounds, SizeRates, StatementCount } from "./measure.ts";
import type { Options } from "./options.ts";

export type Results = {
  options: Options;
  contestants: readonly Contestant[];
  rounds: Rounds;
  latencies: readonly Latency[];
  statements: readonly StatementCount[];
  sizes: readonly SizeRates[];
  memory: { restMiB: number; loadedMiB: number; later: readonly Memory[] };
  /** Milliseconds from start to ready. */
  startUps: readonly number[];
};

/** Pairs of contestants whose rates are compared. */
const RATIOS = [
  ["POST /avatars", BELOW],
  ["POST /avatars", FIRST],
  ["POST /avatars", ABOVE],
  ["POST /avatars, with metrics", "POST /avatars"],
  ["POST /avatars, with metrics and traces", "POST /avatars"],
  ["GET /avatars", "first: GET /avatars"],
  ["GET /api-keys", "first: GET /api-keys"],
  ["GET /audit-events", "first: GET /audit-events"],
  ["GET /avatars, pages that differ", "first: GET /avatars"],
  ["GET /api-keys/self", ABOVE],
  ["refused: bad checksum", ABOVE],
] as const;

export const number = (value: number): string => Math.round(value).toLocaleString("en-US");
export const micros = (seconds: number): string => `${number(seconds * 1e6)} µs`;

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
  const cell = (name: string, connections: number): string =>
    `${number(rounds.rate(name, connections))} ±${spreadOf(name, connections)} %`;
  return table(
    ["requests/s", ...headsOf(options)],
    contestants.map(({ name }) => [name, ...options.connections.map((connections) => cell(name, connections))]),
  );
};

const ratioTable = ({ options, contestants, rounds }: Results): string => {
  const names = contestants.map(({ name }) => name);
  return table(
    ["ratio", ...headsOf(options)],
    RATIOS.filter(([one, other]) => names.includes(one) && names.includes(other)).map(([one, other]) => [
      `${one} / ${other.split(":")[0]}`,
      ...options.connections.map((connections) =>
        (rounds.rate(one, connections) / rounds.rate(other, connections)).toFixed(2),
      ),
    ]),
  );
};

const latencyTable = ({ latencies }: Results): string =>
  table(
    ["half of the peak", "requests/s", "p50", "p99", "p99.9", "p99 / p50"],
    latencies.map(({ name, rate, percentiles: { p50, p99, "p99.9": p999 } }) => [
      name,
      number(rate),
      ...[p50, p99, p999].map((milliseconds) => `${milliseconds.toFixed(1)} ms`),
      (p99 / p50).toFixed(1),
    ]),
  );

const requestTable = ({ options: { typicalConnections }, contestants, rounds, statements }: Results): string =>
  table(
    ["per request", "process", "database", "statements, sequential", `statements at ${typicalConnections}`],
    contestants.map(({ name, script }) => {
      const counts = statements.find((count) => count.name === name);
      return [
        name,
        script ? "" : micros(rounds.median(name, typicalConnections, "serverCpu")),
        micros(rounds.median(name, typicalConnections, "databaseCpu")),
        counts?.sequential.toFixed(2) ?? "",
        counts?.concurrent.toFixed(2) ?? "",
      ];
    }),
  );

const sizeTable = ({ sizes }: Results): string =>
  table(
    ["requests/s", ...sizes.map(({ label }) => label)],
    [...(sizes[0]?.rates.keys() ?? [])].map((name) => [
      name,
      ...sizes.map(({ rates }) => number(rates.get(name) ?? 0)),
    ]),
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
export const reportOf = (results: Results): string => {
  const { avatars, typicalConnections } = results.options;
  return [
    "Requests per second: median of the rounds, and half of their range:",
    rateTable(results),
    ratioTable(results),
    "Latency at half of the peak rate, in an open loop: requests are sent without waiting for earlier responses.",
    latencyTable(results),
    `Processor time per request, of the process and of the database, at ${typicalConnections} connections; and statements per request, each a round trip to the database, for sequential requests and at ${typicalConnections} connections:`,
    requestTable(results),
    ...(results.sizes.length === 0
      ? []
      : [
          `Requests per second at ${typicalConnections} connections, by table size (${number(avatars)} avatars in the tables above):`,
          sizeTable(results),
        ]),
    otherTable(results),
  ].join("\n\n");
};

/** A bar chart of the rates, as SVG. */
const chart = ({ options: { typicalConnections }, contestants, rounds }: Results): string => {
  const rates = contestants.map(({ name }) => rounds.rate(name, typicalConnections));
  const bars = contestants.map(({ name }, index) => {
    const rate = rates[index] ?? 0;
    const [y, width] = [index * 28 + 34, Math.round((rate / Math.max(...rates)) * 380)];
    return `<text x="330" y="${y + 14}" text-anchor="end">${name.replaceAll("&", "&amp;")}</text><rect x="340" y="${y}" width="${width}" height="20" fill="#4c78a8"/><text x="${346 + width}" y="${y + 14}">${number(rate)}</text>`;
  });
  const height = contestants.length * 28 + 44;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="800" height="${height}" font-family="sans-serif" font-size="12"><title>Requests per second at ${typicalConnections} connections</title><rect width="800" height="${height}" fill="#fff"/><text x="340" y="20">requests per second at ${typicalConnections} connections</text>${bars.join("")}</svg>\n`;
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
  // Apply the repository's formatting, also to the tables.
  Bun.spawnSync([process.execPath, "run", "format"], { cwd: ROOT });
};

/** Writes the tables, their JSON and the chart to docs/. */
export const writeReport = async (results: Results, report: string): Promise<void> => {
  const { options, rounds, latencies, statements, memory, startUps } = results;
  const date = new Date().toISOString().slice(0, 10);
  const figures = { date, options, measured: rounds, latencies, statements, memory, startUps };
  await writeFile(join(ROOT, "docs/performance.json"), `${JSON.stringify(figures, null, 2)}\n`);
  await writeFile(join(ROOT, "docs/performance.svg"), chart(results));
  await writeBlock("docs/performance.md", "measured", report);
};
