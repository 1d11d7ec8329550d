/** Options of the benchmark's command line. */
import { parseArgs } from "node:util";

/** The parts of the page, and the seconds of each: together at most a quarter of an hour. */
export const PAGE_SECONDS = { requests: 215, routes: 310, functions: 50, credits: 190, calls: 75 } as const;
/** Longer parts, with separate blocks in the page. Their options set their time. */
export const LONG_SECONDS = { minutes: 0, growth: 0 } as const;
const PARTS = Object.keys({ ...PAGE_SECONDS, ...LONG_SECONDS }) as (
  | keyof typeof PAGE_SECONDS
  | keyof typeof LONG_SECONDS
)[];

const number = (value: string) => ({ type: "string", default: value }) as const;
const numbersOf = (text: string): number[] => text.split(",").filter(Boolean).map(Number);

export const parseOptions = (args: string[]) => {
  const { values } = parseArgs({
    args,
    options: {
      seconds: number("1"),
      rounds: { type: "string" },
      "warm-up": number("1"),
      connections: { type: "string", default: "1,8,32,128" },
      only: { type: "string", default: "" },
      avatars: number("100000"),
      requests: number("200000"),
      minutes: number("10"),
      sizes: { type: "string", default: "1000,100000,5000000" },
      sessions: number("10000000"),
      parts: { type: "string", default: Object.keys(PAGE_SECONDS).join(",") },
      write: { type: "boolean", default: false },
    },
  });
  const connections = numbersOf(values.connections);
  const parts = values.parts.split(",");
  return {
    /** The selected parts. */
    parts: PARTS.filter((part) => parts.includes(part)),
    /** Duration of each load. */
    seconds: Number(values.seconds),
    /** Null: as many rounds as fit into the time of the part. */
    rounds: values.rounds === undefined ? null : Number(values.rounds),
    /** Duration of the load before the rounds, for each contestant. */
    warmUpSeconds: Number(values["warm-up"]),
    connections,
    /** The number of connections for measurements that use only one. */
    typicalConnections: connections.includes(32) ? 32 : (connections.at(-1) ?? 32),
    /** Measures only contestants whose names contain this text. */
    only: values.only,
    /** Number of avatars during the rounds. */
    avatars: Number(values.avatars),
    /** Numbers of avatars, and the number of sessions and entries, for the measurement of growth. */
    sizes: numbersOf(values.sizes),
    sessions: Number(values.sessions),
    /** Number of requests before the last measurement of memory. */
    requests: Number(values.requests),
    /** Length of the long load of credits. */
    minutes: Number(values.minutes),
    /** Whether to write the results to docs/. */
    isWritten: values.write,
  };
};

export type Options = ReturnType<typeof parseOptions>;
