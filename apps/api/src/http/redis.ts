/**
 * Redis, or Valkey, as `rate-limiter-flexible` wants it: a client with `defineCommand`, `rlflxIncr` and `status`. It is
 * Bun's own client underneath, which does not connect again by itself here: that way it gives up for good after a while,
 * keeps commands waiting without a limit, and hangs on a server that is frozen. What is not answered in time fails, and
 * the connection with it; another is made every second.
 */
import type { Logger } from "@realtime-avatar/runtime/log";
import { RedisClient } from "bun";

/** How long an answer may take, and a connection. */
const ANSWER_MS = 200;
const CONNECT_MS = 1000;
const RETRY_MS = 1000;
/** An answer that came while this process was busy is read before it counts as late. */
const READ_MS = 10;

export type RedisStore = {
  /** `ready`, or anything else while there is no connection. */
  readonly status: string;
  /** Told by the library which script counts. */
  defineCommand(name: string, command: { lua: string }): void;
  /** Counts: a key, and the arguments of the script. */
  rlflxIncr(args: readonly [string, ...unknown[]]): Promise<unknown>;
  close(): void;
};

/** Connects to a `redis://` URL, now and whenever the connection is lost. Tells the log when it is lost and when back. */
export const createRedisStore = (url: string, log: Logger): RedisStore => {
  const client = new RedisClient(url, {
    connectionTimeout: CONNECT_MS,
    autoReconnect: false,
    enableOfflineQueue: false,
  });
  let status: "ready" | "down" | "closed" = "down";
  let isTroubled = false;
  let script = { lua: "", sha: "" };
  let retrying: Timer | undefined;

  const lose = (): void => {
    if (status === "closed") return;
    status = "down";
    if (!isTroubled) log.warn("REDIS_URL cannot be reached: rate limits are of each process until it is back");
    isTroubled = true;
    clearTimeout(retrying);
    retrying = setTimeout(open, RETRY_MS).unref();
  };
  const open = (): void => {
    client.connect().then(() => {
      if (status === "closed") return;
      status = "ready";
      if (isTroubled) log.info("REDIS_URL is reached again: rate limits are shared");
      isTroubled = false;
    }, lose);
  };
  client.onclose = lose;
  open();

  /** Such as a replica that takes no writes, or a server without memory. */
  let isRefused = false;
  const refuse = (error: Error): never => {
    if (!isRefused && status === "ready") log.warn("REDIS_URL refuses to count: rate limits are of each process");
    isRefused = true;
    throw error;
  };

  const send = async (command: string, args: string[]): Promise<unknown> => {
    const hangUp = (): void => {
      lose();
      client.close();
    };
    let timer = setTimeout(() => {
      timer = setTimeout(hangUp, READ_MS);
    }, ANSWER_MS);
    try {
      return await client.send(command, args);
    } finally {
      clearTimeout(timer);
    }
  };

  return {
    get status() {
      return status;
    },
    defineCommand: (_, { lua }) => {
      script = { lua, sha: new Bun.CryptoHasher("sha1").update(lua).digest("hex") };
    },
    rlflxIncr: async ([key, ...rest]) => {
      const args = ["1", key, ...rest.map(String)];
      const counted = await send("EVALSHA", [script.sha, ...args])
        .catch((error: Error) => {
          // A server that has just started does not know the script.
          if (!error.message.startsWith("NOSCRIPT")) throw error;
          return send("EVAL", [script.lua, ...args]);
        })
        .catch(refuse);
      isRefused = false;
      return counted;
    },
    close: () => {
      status = "closed";
      clearTimeout(retrying);
      client.close();
    },
  };
};
