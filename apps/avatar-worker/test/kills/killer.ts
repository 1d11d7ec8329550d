/** Kills parts of the service at random moments, and starts them again. */
import type { Numbers } from "@realtime-avatar/testing/random-numbers";
import type { Call } from "./caller.ts";
import type { Part, World } from "./world.ts";

/** The share of each kind in the kills, in percent. */
export const SHARES = { process: 40, "avatar worker": 25, api: 15, database: 10, livekit: 10 } as const;
type Kind = keyof typeof SHARES;

/** `at`, `backAt`: times by `performance.now()`. `lost`: the calls whose process ended. */
export type Kill = { kind: Kind; at: number; backAt: number; lost: readonly string[] };

const chooseKind = (numbers: Numbers): Kind => {
  let left = numbers(100);
  for (const kind of Object.keys(SHARES) as Kind[]) {
    left -= SHARES[kind];
    if (left < 0) return kind;
  }
  return "process";
};

const killAndStart = async (kind: Kind, part: Part, findLost: () => Promise<string[]>): Promise<Kill> => {
  const before = await findLost();
  const at = performance.now();
  await part.kill();
  // A call can begin between the look and the kill.
  const lost = [...new Set([...before, ...(await findLost())])];
  await part.start();
  return { kind, at, backAt: performance.now(), lost };
};

const callsOf = (world: World, index: number): Promise<string[]> =>
  world.onDatabase(async ({ client }) => {
    const id = /"workerId":"(\w+)"/.exec(world.avatarWorkers[index]?.process().stdout() ?? "")?.[1] ?? "";
    const rows =
      await client`select session_id from fleet.avatar_slots where worker_id = ${id} and session_id is not null`;
    return rows.map((row) => row["session_id"]);
  });

const none = async (): Promise<string[]> => [];

/** Kills the process of a call that the person hears. Returns null when there is no such call. */
const killProcess = (world: World, numbers: Numbers, running: ReadonlyMap<string, Call>): Kill | null => {
  const heard = [...running.values()].filter(({ heardAt }) => heardAt !== null);
  const call = heard[numbers(heard.length || 1)];
  const pid = call && world.pidOf(call.id);
  if (!call || !pid) return null;
  const at = performance.now();
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    return null;
  }
  return { kind: "process", at, backAt: at, lost: [call.id] };
};

const killOnce = async (
  world: World,
  kind: Kind,
  numbers: Numbers,
  running: ReadonlyMap<string, Call>,
): Promise<Kill | null> => {
  switch (kind) {
    case "process":
      return killProcess(world, numbers, running);
    case "avatar worker": {
      const index = numbers(world.avatarWorkers.length);
      const part = world.avatarWorkers[index];
      return part ? killAndStart(kind, part, () => callsOf(world, index)) : null;
    }
    case "api": {
      const part = world.apis[numbers(world.apis.length)];
      return part ? killAndStart(kind, part, none) : null;
    }
    case "database":
      return killAndStart(kind, world.database, none);
    case "livekit":
      return killAndStart(kind, world.livekit, async () => [...running.values()].map(({ id }) => id));
  }
};

type Options = {
  numbers: Numbers;
  count: number;
  running: ReadonlyMap<string, Call>;
  /** The share of the calls that have ended. */
  progress: () => number;
  /** Each kill is added to this list. */
  kills: Kill[];
};

/** Kills `count` times, spread over all calls. Each killed part runs again before the next kill. */
export const killAtRandom = async (world: World, options: Options): Promise<void> => {
  const { numbers, count, running, progress, kills } = options;
  while (kills.length < count && progress() < 1) {
    await Bun.sleep(100 + numbers(900));
    if (progress() < kills.length / count) continue;
    const kill = await killOnce(world, chooseKind(numbers), numbers, running);
    if (kill) kills.push(kill);
  }
};

const STEP_MS = 20;
const MIN_STALL_MS = 100;

export type Stalls = { between(from: number, to: number): number; stop(): void };

/** Measures when the machine did not run this process, because the test itself is late then. */
export const watchStalls = (): Stalls => {
  const stalls: { from: number; to: number }[] = [];
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    if (now - last > MIN_STALL_MS + STEP_MS) stalls.push({ from: last, to: now });
    last = now;
  }, STEP_MS);
  return {
    /** Milliseconds of stalls in a time. */
    between: (from, to) =>
      stalls.reduce((sum, stall) => sum + Math.max(0, Math.min(to, stall.to) - Math.max(from, stall.from)), 0),
    stop: () => clearInterval(timer),
  };
};
