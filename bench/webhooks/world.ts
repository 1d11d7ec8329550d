/** Shared by the parts of the benchmark: a receiver in a separate process, endpoints there, and the sender. */
import type { Caller } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { createLog } from "@realtime-avatar/runtime/log";
import { secureRandom as random } from "@realtime-avatar/runtime/random";
import { createUntilDue } from "../../apps/worker/src/jobs/due-work.ts";
import { createPoster } from "../../apps/worker/src/remote/post.ts";
import type { Network } from "../../apps/worker/src/remote/request.ts";
import { SENDER_TIMING, type Sender, startSender } from "../../apps/worker/src/webhooks/sender.ts";
import { loopback, SEALING_KEY, seedSealedEndpoint } from "../../apps/worker/src/webhooks/world.testing.ts";

/** The deliveries that have arrived at a path: the targets of events, with their times. */
type Arrival = { target: string; at: number };
export type Receiver = {
  port: number;
  network: Network;
  at(path: string): readonly Arrival[];
  end(): Promise<void>;
};

export const startReceiver = async (): Promise<Receiver> => {
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/receiver.ts`], { stdin: "pipe", stdout: "pipe" });
  const arrived = new Map<string, Arrival[]>();
  const started = Promise.withResolvers<{ port: number; ca: string }>();
  (async () => {
    let rest = "";
    for await (const chunk of child.stdout) {
      const lines = (rest + new TextDecoder().decode(chunk)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("{")) started.resolve(JSON.parse(line));
        else {
          const [path = "", target = "", at] = line.split(" ");
          arrived.set(path, arrived.get(path) ?? []);
          arrived.get(path)?.push({ target, at: Number(at) });
        }
      }
    }
  })();
  const { port, ca } = await started.promise;
  return {
    port,
    network: loopback(port, ca),
    at: (path) => arrived.get(path) ?? [],
    end: async () => {
      child.stdin.end();
      await child.exited;
    },
  };
};

export const endpointAt = (db: Db, { port }: Receiver, caller: Caller, path: string): Promise<unknown> =>
  seedSealedEndpoint(db, caller, { url: `https://hooks.example.com:${port}${path}` });

export const startOwn = (db: Db, { network }: Receiver): Sender =>
  startSender({
    db,
    log: createLog("warn"),
    random,
    metrics: null,
    tracing: null,
    poster: createPoster({ network }),
    sealingKey: SEALING_KEY,
    assetOrigin: "https://files.example.com",
    userAgent: "realtime-avatar/bench",
    sends: 1000,
    timing: SENDER_TIMING,
    untilDue: createUntilDue(db)("deliveries"),
  });
