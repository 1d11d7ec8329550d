/** For tests: two processes of the service under load, with what a load balancer does: it asks who is ready. */
import { bun, startProcess } from "@realtime-avatar/runtime/testing";

export type Fleet = {
  /** How many requests had each status; 0 is for those that got no answer. */
  statuses: ReadonlyMap<number, number>;
  /** Waits until so many more requests were answered, and both processes are ready. */
  untilAnswered(count: number): Promise<void>;
  /** Tells one to end by SIGTERM, and starts another in its place; `whileEnding` looks at the one that ends. */
  replace(index: number, whileEnding?: (url: string) => Promise<void>): Promise<void>;
  /** Ends the load, then the processes; throws unless they end in order. */
  stop(): Promise<void>;
};

const LANES = 8;

/** `send` sends one of the requests of the load to a process that was ready at the last look. */
export const startFleet = async (
  variables: Record<string, string>,
  send: (url: string, turn: number) => Promise<Response>,
): Promise<Fleet> => {
  const start = async () => {
    const process = startProcess(bun("apps/api/src/main.ts"), { PORT: "0", ...variables });
    return { process, url: (await process.waitFor(/"url":"(http:[^"]+)"/))[1] ?? "" };
  };
  const known = [await start(), await start()];
  let ready = known.map(({ url }) => url);
  let isStopping = false;
  const look = async (): Promise<void> => {
    while (!isStopping) {
      const answers = await Promise.all(
        known.map(async ({ url }) => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200),
      );
      ready = known.flatMap(({ url }, index) => (answers[index] ? [url] : []));
      await Bun.sleep(10);
    }
  };
  const statuses = new Map<number, number>();
  let answered = 0;
  const load = async (lane: number): Promise<void> => {
    for (let turn = 0; !isStopping; turn++) {
      const url = ready[(lane + turn) % ready.length] ?? "none is ready";
      const answer = await send(url, lane + turn).catch(() => null);
      await answer?.arrayBuffer();
      const status = answer?.status ?? 0;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      answered++;
    }
  };
  const looking = look();
  const lanes = Array.from({ length: LANES }, (_, lane) => load(lane));
  const end = async (signal: NodeJS.Signals, running: (typeof known)[number] | undefined): Promise<void> => {
    running?.process.kill(signal);
    const code = await running?.process.exited;
    if (code !== 0) throw new Error(`the process ended with ${code}: ${running?.process.stderr()}`);
  };
  return {
    statuses,
    untilAnswered: async (count) => {
      const enough = answered + count;
      while (answered < enough || ready.length < known.length) await Bun.sleep(5);
    },
    replace: async (index, whileEnding) => {
      const old = known[index];
      const ended = end("SIGTERM", old);
      await whileEnding?.(old?.url ?? "");
      await ended;
      known[index] = await start();
    },
    stop: async () => {
      isStopping = true;
      await Promise.all([looking, ...lanes]);
      await Promise.all(known.map((running) => end("SIGINT", running)));
    },
  };
};
