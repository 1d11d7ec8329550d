/**
 * Support for tests: two processes of the service under load, behind a simulated load balancer that checks their
 * readiness.
 */
import { bun, startProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";

export type Fleet = {
  /** Number of responses by status. */
  statuses: ReadonlyMap<number, number>;
  /** The errors of requests without a response. */
  failures: readonly string[];
  /** Waits for this number of further responses, and until both processes are ready. */
  untilAnswered(count: number): Promise<void>;
  /**
   * Stops one process with SIGTERM, and starts another in its place. `whileEnding`: gets the URL of the ending process.
   * SIGINT ends its grace period, after the load balancer has removed it and all its requests have responses. So a slow
   * machine does not fail a test.
   */
  replace(index: number, whileEnding?: (url: string) => Promise<void>, program?: readonly string[]): Promise<void>;
  /** Ends the load, and then the processes. Throws unless they end in order. */
  stop(): Promise<void>;
};

const LANES = 8;
const PAUSE_MS = 5;
/** Longer than any test. */
const GRACE_MS = "600000";

/**
 * `send`: sends one request of the load to a process that was ready at the last check. `first`: the program of both
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
  /** The number of requests in progress, by process. */
  const pending = new Map<string, number>();
  const count = (url: string, change: 1 | -1): void => void pending.set(url, (pending.get(url) ?? 0) + change);
  let answered = 0;
  const load = async (lane: number): Promise<void> => {
    for (let turn = 0; !isStopping; turn++) {
      // A pause, so that starting processes get processor time as well.
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
