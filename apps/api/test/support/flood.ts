/**
 * Support for tests: clients that send requests with well-formed but unknown API keys, as fast as they get responses.
 */

import { generateApiKey } from "@realtime-avatar/domain/api-keys/secret";
import type { RandomBytes } from "@realtime-avatar/domain/id";
import { random as seeded } from "@realtime-avatar/testing/random-bytes";
import { until } from "@realtime-avatar/testing/until";
import type { Socket } from "bun";

export type Flood = {
  /** Number of responses by status. */
  statuses: ReadonlyMap<number, number>;
  /** Waits for this number of further responses. */
  untilAnswered(count: number): Promise<void>;
  stop(): void;
};

/** Number of different keys that are sent in turn. */
const KEYS = 5000;

/** Opens `connections` to the service at `url`. Each sends its next request after the last response. */
export const startFlood = async (url: string, connections: number, keyOf = unknownKeys()): Promise<Flood> => {
  const { hostname, port, host } = new URL(url);
  const statuses = new Map<number, number>();
  let answered = 0;
  let isStopping = false;
  const sockets = new Set<Socket>();
  const send = (socket: Socket): void => {
    socket.write(`GET /api/v1/api-keys/self HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${keyOf()}\r\n\r\n`);
  };
  const open = (): Promise<unknown> =>
    Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        open: (socket) => {
          sockets.add(socket);
          send(socket);
        },
        data: (socket, data) => {
          // The responses are small and arrive whole. Data without a status line is the rest of a response.
          const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(data.toString("latin1")) ?? [];
          if (status === undefined) return;
          statuses.set(Number(status), (statuses.get(Number(status)) ?? 0) + 1);
          answered++;
          if (!isStopping) send(socket);
        },
        close: (socket) => {
          sockets.delete(socket);
          if (!isStopping) void open().catch(() => {});
        },
        error: () => {},
      },
    });
  await Promise.all(Array.from({ length: connections }, open));
  return {
    statuses,
    untilAnswered: async (count) => {
      const enough = answered + count;
      await until(() => answered >= enough, { pollMs: 5 });
    },
    stop: () => {
      isStopping = true;
      for (const socket of sockets) socket.end();
    },
  };
};

/** Well-formed keys with a right checksum that no database has. */
export const unknownKeys = (random: RandomBytes = seeded): (() => string) => {
  const keys = Array.from({ length: KEYS }, () => generateApiKey("live", random).reveal());
  let turn = 0;
  return () => keys[turn++ % KEYS] ?? "";
};
