/** The report of the benchmark of credits, in Markdown. */
import { median } from "../machine.ts";
import type { Rounds } from "../measure.ts";
import { loadText, micros, number, table } from "../report.ts";
import {
  BALANCE,
  CREATE_CLAIMED,
  firstName,
  HOT,
  OPEN,
  OPEN_CLAIMED,
  OPEN_DEEP,
  REFUSED,
  RELEASE,
  RELEASE_MANY,
  REPORT,
  type Row,
  SELF,
} from "./contestants.ts";
import { divideRates, formatRange, type Goal, goalTable } from "./goals.ts";
import { SLOW_COMMIT } from "./hot-row.ts";
import { type Minute, rowLabel, type Wal } from "./measure.ts";

export type CreditResults = {
  rows: readonly Row[];
  rounds: Rounds;
  wal: readonly Wal[];
  /** The load of the machine at the start and at the end, over a minute each. */
  loads: readonly [number, number];
  /** The rates of the functions alone: see functions.ts. */
  functions: { goals: readonly Goal[]; tables: string };
};

type Place = { name: string; connections?: number; delay?: number };
const slow = (name: string, connections = 32): Place => ({ name, connections, delay: SLOW_COMMIT });

/** Pairs whose ratio has a goal. */
const GOALS: readonly [string, Place, Place, number][] = [
  ["opens of one key at 32 connections / hot UPDATE at 32 clients, commits of 1 ms", slow(OPEN), slow(HOT), 3],
  ["opens of one key at 128 connections / hot UPDATE at 32 clients, commits of 1 ms", slow(OPEN, 128), slow(HOT), 6],
  [
    "opens of 64 tenants / `POST /avatars`, both with an Idempotency-Key",
    { name: OPEN_CLAIMED },
    { name: CREATE_CLAIMED },
    0.8,
  ],
  ["opens at lineage depth 8 / depth 0", { name: OPEN_DEEP }, { name: OPEN }, 0.7],
  ["refusal (402) / `GET /api-keys/self`", { name: REFUSED }, { name: SELF }, 0.8],
  ["`GET /credits/balance` / first", { name: BALANCE }, { name: firstName(BALANCE) }, 1],
  ...[SLOW_COMMIT, 0].flatMap((delay): [string, Place, Place, number][] => {
    const place = (name: string): Place => ({ name, delay });
    const commits = delay === 0 ? "" : ", commits of 1 ms";
    return [
      [`reports at 32 connections / first${commits}`, place(REPORT), place(firstName(REPORT)), 2],
      [`releases of one account / first${commits}`, place(RELEASE), place(firstName(RELEASE)), 2],
      [`releases of one account / hot UPDATE${commits}`, place(RELEASE), place(HOT), 1],
      [`releases of 64 tenants / first${commits}`, place(RELEASE_MANY), place(firstName(RELEASE_MANY)), 2],
    ];
  }),
];

const ratesOf = (rounds: Rounds, { name, connections = 32, delay = 0 }: Place): number[] =>
  rounds.all(rowLabel({ name, delay }), connections, "rate");

/** The goals with the measurements. */
export const creditGoals = ({ rounds, functions }: CreditResults): Goal[] => [
  ...functions.goals,
  ...GOALS.map(([name, one, other, least]) => ({
    name,
    least,
    ratios: divideRates(ratesOf(rounds, one), ratesOf(rounds, other)),
  })),
];

const rateTable = ({ rows, rounds }: CreditResults): string =>
  table(
    ["requests/s", "connections", "median [range]", "process, µs", "database, µs"],
    rows.map((row) => [
      rowLabel(row),
      `${row.connections}`,
      formatRange(ratesOf(rounds, row), number),
      row.script ? "" : micros(rounds.median(rowLabel(row), row.connections, "serverCpu")),
      micros(rounds.median(rowLabel(row), row.connections, "databaseCpu")),
    ]),
  );

const walTable = ({ wal }: CreditResults): string =>
  table(
    ["write-ahead log", "requests", "bytes of their statements", "bytes/s of the whole server"],
    wal.map(({ name, seconds, requests, serverBytes, statementBytes }) => [
      name,
      number(requests),
      number(statementBytes),
      number(serverBytes / seconds),
    ]),
  );

/** The length of the long load in its goal, in minutes. */
const LONG_LOAD = 10;

/** The long load: its goal and its minutes. */
export const minutesReport = (minutes: readonly Minute[], hotShares: ReadonlyMap<string, number>): string => {
  const shares = [...hotShares].map(([name, share]) => `${name} ${(share * 100).toFixed(1)} %`);
  const [first, last] = [minutes[0], minutes.at(-1)];
  const goal: Goal = {
    name: `last minute of load / first, of ${minutes.length}${minutes.length < LONG_LOAD ? ` (the goal is for ${LONG_LOAD})` : ""}`,
    least: 0.9,
    ratios: first && last && minutes.length > 1 ? [last.rate / first.rate] : [],
  };
  return [
    `Sessions of one key are opened, reported and released at 32 connections, and the machine is measured beside it. Median: ${number(median(minutes.map(({ rate }) => rate)))} requests per second. Updates that left the indexes alone (HOT): ${shares.join(", ")}.`,
    table(
      ["minute", ...minutes.map((_, index) => `${index + 1}`)],
      [
        ["open, report and release, requests/s", ...minutes.map(({ rate }) => number(rate))],
        [`${SELF}, requests/s`, ...minutes.map(({ reference }) => number(reference))],
      ],
    ),
    goalTable([goal]),
  ].join("\n\n");
};

/** The tables without the goals. */
export const creditReport = (results: CreditResults): string => {
  const { loads, functions, wal, rounds } = results;
  return [
    `Requests per second, and processor time per request. ${loadText(...loads)}`,
    rateTable(results),
    ...rounds.failures(),
    ...(wal.length === 0 ? [] : ["The write-ahead log while requests are refused:", walTable(results)]),
    ...(functions.tables === "" ? [] : ["The functions alone, with pgbench:", functions.tables]),
  ].join("\n\n");
};
