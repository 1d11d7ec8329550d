/** Options of the benchmark's command line. */
import { parseArgs } from "node:util";

export const PARTS = ["requests", "credits"] as const;

export type Options = {
  /** What to measure. */
  parts: readonly (typeof PARTS)[number][];
  /** Duration of each load. */
  seconds: number;
  rounds: number;
  /** Duration of the load before the rounds, for each contestant. */
  warmUpSeconds: number;
  connections: readonly number[];
  /** The number of connections for measurements that use only one. */
  typicalConnections: number;
  /** Measures only contestants whose names contain this text. */
  only: string;
  /** Number of avatars during the rounds. */
  avatars: number;
  /** Numbers of avatars for the measurement by table size. */
  sizes: readonly number[];
  /** Number of keys for the last measurement by table size. */
  keys: number;
  /** Number of requests before the last measurement of memory. */
  requests: number;
  /** Length of the long load of credits. */
  minutes: number;
  /** Whether to write the results to docs/. */
  isWritten: boolean;
};

const numbersOf = (text: string): number[] => text.split(",").filter(Boolean).map(Number);

export const parseOptions = (args: string[]): Options => {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: "string", default: "3" },
      rounds: { type: "string", default: "3" },
      "warm-up": { type: "string", default: "6" },
      connections: { type: "string", default: "1,8,32,128" },
      only: { type: "string", default: "" },
      avatars: { type: "string", default: "100000" },
      sizes: { type: "string", default: "1000,100000,5000000" },
      keys: { type: "string", default: "1000000" },
      requests: { type: "string", default: "1000000" },
      minutes: { type: "string", default: "10" },
      parts: { type: "string", default: PARTS.join(",") },
      write: { type: "boolean", default: false },
    },
  });
  const connections = numbersOf(values.connections);
  const parts = values.parts.split(",");
  return {
    parts: PARTS.filter((part) => parts.includes(part)),
    seconds: Number(values.seconds),
    rounds: Number(values.rounds),
    warmUpSeconds: Number(values["warm-up"]),
    connections,
    typicalConnections: connections.includes(32) ? 32 : (connections.at(-1) ?? 32),
    only: values.only,
    avatars: Number(values.avatars),
    sizes: numbersOf(values.sizes),
    keys: Number(values.keys),
    requests: Number(values.requests),
    minutes: Number(values.minutes),
    isWritten: values.write,
  };
};
