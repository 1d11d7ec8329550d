/**
 * The store of `rate-limiter-flexible` on Redis or Valkey: it expects a client with `defineCommand`, `rlflxIncr` and
 * `status`. The connection is Bun's `RedisClient` without its own reconnection, which gives up after 20 attempts,
 * queues commands without a limit, and hangs on a frozen server. Here, a command without a reply in time fails and
 * closes the connection. A new connection is attempted every second.
 */
import type { Logger } from "@realtime-avatar/runtime/log";
import { RedisClient } from "bun";

/** Timeout of a command. */
const REPLY_MS = 200;
const CONNECT_MS = 1000;
const RECONNECT_MS = 1000;
/** Time to read a reply that arrived while this process was busy, after the timeout of its command. */
const LATE_READ_MS = 10;

export type RedisStore = {
  /** `ready` while connected. */
  readonly status: string;
  /** Called by the library with its counting script. */
  defineCommand(name: string, command: { lua: string }): void;
  /** Counts: a key, and the arguments of the script. */
  rlflxIncr(args: readonly [string, ...unknown[]]): Promise<unknown>;
  close(): void;
};

/** A connection that is reopened after it is lost. */
const createConnection = (url: string, log: Logger) => {
  const client = new RedisClient(url, {
    connectionTimeout: CONNECT_MS,
    autoReconnect: false,
    enableOfflineQueue: false,
  });
  let status: "ready" | "down" | "closed" = "down";
  let isLossLogged = false;
  let reconnecting: Timer | undefined;

  const lose = (): void => {
    if (status === "closed") return;
    status = "down";
    if (!isLossLogged) log.warn("REDIS_URL cannot be reached: each process counts for itself until the server is back");
    isLossLogged = true;
    clearTimeout(reconnecting);
    reconnecting = setTimeout(open, RECONNECT_MS).unref();
  };
  const open = (): void => {
    client.connect().then(() => {
      if (status === "closed") return;
      status = "ready";
      if (isLossLogged) log.info("REDIS_URL is reached again: rate limits are shared");
      isLossLogged = false;
    }, lose);
  };
  client.onclose = lose;
  open();

  return {
    status: () => status,
    /** Sends a command. Fails and closes the connection when no reply comes in time. */
    send: async (command: string, args: string[]): Promise<unknown> => {
      const hangUp = (): void => {
        lose();
        client.close();
      };
      let timer = setTimeout(() => {
        timer = setTimeout(hangUp, LATE_READ_MS);
      }, REPLY_MS);
      try {
        return await client.send(command, args);
      } finally {
        clearTimeout(timer);
      }
    },
    close: (): void => {
      status = "closed";
      clearTimeout(reconnecting);
      client.close();
    },
  };
};

/** Connects to a `redis://` URL. Logs when the connection is lost or restored, and when the server refuses to count. */
export const createRedisStore = (url: string, log: Logger): RedisStore => {
  const connection = createConnection(url, log);
  let script = { lua: "", sha: "" };
  let isRefusalLogged = false;
  return {
    get status() {
      return connection.status();
    },
    defineCommand: (_, { lua }) => {
      script = { lua, sha: new Bun.CryptoHasher("sha1").update(lua).digest("hex") };
    },
    rlflxIncr: async ([key, ...rest]) => {
      const args = ["1", key, ...rest.map(String)];
      try {
        const count = await connection.send("EVALSHA", [script.sha, ...args]).catch((error: Error) => {
          // A server that has just started does not know the script.
          if (!error.message.startsWith("NOSCRIPT")) throw error;
          return connection.send("EVAL", [script.lua, ...args]);
        });
        isRefusalLogged = false;
        return count;
      } catch (error) {
        // For example, a read-only replica, or a server without memory.
        const isRefusal = connection.status() === "ready";
        if (isRefusal && !isRefusalLogged) log.warn("REDIS_URL refuses to count: each process counts for itself");
        isRefusalLogged = true;
        throw error;
      }
    },
    close: connection.close,
  };
};
