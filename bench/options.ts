/** Options of the benchmark's command line. */
import { parseArgs } from "node:util";

export const PARTS = ["requests", "functions", "credits", "calls"] as const;

const number = (value: string) => ({ type: "string", default: value }) as const;
const numbersOf = (text: string): number[] => text.split(",").filter(Boolean).map(Number);

export const parseOptions = (args: string[]) => {
  const { values } = parseArgs({
    args,
    options: {
      seconds: number("3"),
      rounds: number("3"),
      "warm-up": number("6"),
      connections: { type: "string", default: "1,8,32,128" },
      only: { type: "string", default: "" },
      avatars: number("100000"),
      sizes: { type: "string", default: "1000,100000,5000000" },
      keys: number("1000000"),
      requests: number("1000000"),
      minutes: number("10"),
      parts: { type: "string", default: PARTS.join(",") },
      write: { type: "boolean", default: false },
    },
  });
  const connections = numbersOf(values.connections);
  const parts = values.parts.split(",");
  return {
    /** What to measure. */
    parts: PARTS.filter((part) => parts.includes(part)),
    /** Duration of each load. */
    seconds: Number(values.seconds),
    rounds: Number(values.rounds),
    /** Duration of the load before the rounds, for each contestant. */
    warmUpSeconds: Number(values["warm-up"]),
    connections,
    /** The number of connections for measurements that use only one. */
    typicalConnections: connections.includes(32) ? 32 : (connections.at(-1) ?? 32),
    /** Measures only contestants whose names contain this text. */
    only: values.only,
    /** Number of avatars during the rounds. */
    avatars: Number(values.avatars),
    /** Numbers of avatars for the measurement by table size. */
    sizes: numbersOf(values.sizes),
    /** Number of keys for the last measurement by table size. */
    keys: Number(values.keys),
    /** Number of requests before the last measurement of memory. */
    requests: Number(values.requests),
    /** Length of the long load of credits. */
    minutes: values.only === "" ? Number(values.minutes) : 0,
    /** Whether to write the results to docs/. */
    isWritten: values.write,
  };
};

export type Options = ReturnType<typeof parseOptions>;
