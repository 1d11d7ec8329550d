/** For tests: two processes of the service under load, with what a load balancer does: it asks who is ready. */
import { bun, startProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";

export type Fleet = {
  /** How many requests had each status. */
  statuses: ReadonlyMap<number, number>;
  /** The errors of requests that got no answer. */
  failures: readonly string[];
  /** Waits until so many more requests were answered, and both processes are ready. */
  untilAnswered(count: number): Promise<void>;
  /**
   * Tells one to end by SIGTERM, and starts another in its place; `whileEnding` looks at the one that ends. Its grace ends,
   * by SIGINT, when the load balancer has taken it out and each of its requests was answered: so no machine is too slow.
   */
  replace(index: number, whileEnding?: (url: string) => Promise<void>, program?: readonly string[]): Promise<void>;
  /** Ends the load, then the processes; throws unless they end in order. */
  stop(): Promise<void>;
};

const LANES = 8;
const PAUSE_MS = 5;
/** No test waits so long. */
const GRACE_MS = "600000";

/**
 * `send` sends one of the requests of the load to a process that was ready at the last look. `first` is the program of both
 * processes, until they are replaced.
 */
export const startFleet = async (
  variables: Record<string, string>,
  send: (url: string, turn: number) => Promise<Response>,
  first: readonly string[] = bun("apps/api/src/main.ts"),
): Promise<Fleet> => {
  const start = async (program: readonly string[] = bun("apps/api/src/main.ts")) => {
    const process = startProcess(program, {
      PORT: "0",
      SHUTDOWN_GRACE_MS: GRACE_MS,
      ...variables,
    });
    return { process, url: (await process.waitFor(/"url":"(http:[^"]+)"/))[1] ?? "" };
  };
  const known = [await start(first), await start(first)];
  let ready = known.map(({ url }) => url);
  let isStopping = false;
  const look = async (): Promise<void> => {
    while (!isStopping) {
      const urls = known.map(({ url }) => url);
      const isReady = await Promise.all(
        urls.map(async (url) => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200),
      );
      ready = urls.filter((_, index) => isReady[index]);
      await Bun.sleep(20);
    }
  };
  const statuses = new Map<number, number>();
  const failures: string[] = [];
  /** The requests in progress, by the process that has them. */
  const pending = new Map<string, number>();
  const count = (url: string, change: 1 | -1): void => void pending.set(url, (pending.get(url) ?? 0) + change);
  let answered = 0;
  const load = async (lane: number): Promise<void> => {
    for (let turn = 0; !isStopping; turn++) {
      // A pause, so that the processes that start meanwhile get processor time as well.
      await Bun.sleep(PAUSE_MS);
      const url = ready[(lane + turn) % ready.length];
      if (url === undefined) continue;
      count(url, 1);
      try {
        const answer = await send(url, lane + turn);
        await answer.arrayBuffer();
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      } catch (error) {
        failures.push(`${(error as NodeJS.ErrnoException).code}: ${(error as Error).message}`);
      }
      count(url, -1);
      answered++;
    }
  };
  const looking = look();
  const lanes = Array.from({ length: LANES }, (_, lane) => load(lane));
  const end = async (signal: NodeJS.Signals, running: (typeof known)[number]): Promise<void> => {
    running.process.kill(signal);
    const code = await running.process.exited;
    if (code !== 0) throw new Error(`the process ended with ${code}: ${running.process.stderr()}`);
  };
  return {
    statuses,
    failures,
    untilAnswered: async (count) => {
      const enough = answered + count;
      await until(() => answered >= enough && ready.length >= known.length, { pollMs: 5 });
    },
    replace: async (index, whileEnding, program) => {
      const old = known[index];
      if (!old) throw new Error(`there is no process ${index}`);
      old.process.kill("SIGTERM");
      await whileEnding?.(old.url);
      await until(() => !ready.includes(old.url) && (pending.get(old.url) ?? 0) === 0, { pollMs: 5 });
      await end("SIGINT", old);
      known[index] = await start(program);
    },
    stop: async () => {
      isStopping = true;
      await Promise.all([looking, ...lanes]);
      await Promise.all(known.map((running) => end("SIGINT", running)));
    },
  };
};
