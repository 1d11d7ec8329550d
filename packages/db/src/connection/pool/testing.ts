/** Helpers for tests of the pool: statements that sleep, a proxy before the database, and the kinds of failures. */
import { createServer, connect as dial, type Socket } from "node:net";
import { connectTo } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { until } from "@realtime-avatar/testing/until";
import { sql } from "drizzle-orm";
import { prepared } from "../../query/statement.ts";
import { DatabaseError } from "../errors.ts";
import type { Db, PoolOptions } from "../pool.ts";

/** Returns the error that `work` throws. */
export const catchFailure = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => {
      throw new Error("it did not fail");
    },
    (error: unknown) => error,
  );

/** The failure's kind and code; null for any other error. */
export const failureKind = async (work: Promise<unknown>): Promise<[string, string] | null> => {
  const error = await catchFailure(work);
  return error instanceof DatabaseError ? [error.failure, error.code] : null;
};

export const sleep = prepared<{ pid: number }>(
  "test",
  sql`select pg_backend_pid() as pid from pg_sleep(${sql.placeholder("seconds")}::float8)`,
);
export const now = (db: Pick<Db, "run">) => sleep(db, { seconds: 0 });
/** Longer than any test. */
export const forLong = (db: Pick<Db, "run">) => sleep(db, { seconds: 600 });

/** Creates a database for a test file, and pools on it. */
export const poolTests = async () => {
  const database = await fileDatabase();
  return {
    url: database.url,
    /** A client outside the pools, to observe the database. */
    client: database.db.client,

    async withPool(options: PoolOptions & { url?: string }, use: (db: Db) => Promise<void>): Promise<void> {
      // Long enough for a busy machine.
      const db = connectTo({ url: database.url, ...options }, { connectMs: 60_000, deadlineMs: 60_000, ...options });
      try {
        await use(db);
      } finally {
        await db.close();
      }
    },

    /** The backends of this database that sleep; waits until there are at least `count`. */
    sleepers(count: number): Promise<number[]> {
      return until(
        async () => {
          const rows = await database.db.client<{ pid: number }[]>`
            select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
          return rows.length >= count && rows.map(({ pid }) => pid);
        },
        { pollMs: 2 },
      );
    },

    /** A proxy before the database; `onConnection` decides what it forwards. */
    async startProxy(onConnection: (socket: Socket, upstream: Socket) => void) {
      const { hostname, port } = new URL(database.url);
      const sockets = new Set<Socket>();
      const server = createServer((socket) => {
        const upstream = dial(Number(port), hostname);
        for (const each of [socket, upstream]) {
          sockets.add(each);
          each.on("error", () => {});
        }
        onConnection(socket, upstream);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const url = new URL(database.url);
      url.port = String((server.address() as { port: number }).port);
      return {
        url: url.href,
        close: () => {
          for (const each of sockets) each.destroy();
          server.close();
        },
      };
    },
  };
};
