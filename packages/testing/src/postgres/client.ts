/** Plain clients of PostgreSQL, and pools like those of the service. */
import { connect, type Db, type PoolOptions } from "@realtime-avatar/db/connection/pool";
import { driver } from "@realtime-avatar/db/connection/server/driver";
import { type Host, parseHosts } from "@realtime-avatar/db/connection/server/hosts";
import { shardOptions } from "@realtime-avatar/db/shards/shard";
import type postgres from "postgres";

/** The time limits of the pool of a test, long enough for a busy machine. */
export const PATIENT = { deadlineMs: 30_000, connectMs: 30_000 };

/** The URL of another database of the server. */
export const withDatabase = (url: string, name: string): string => {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
};

/** Opens a plain client of the first host of a URL. */
export const client = (url: string, connections = 1, options: object = {}): postgres.Sql =>
  driver(url, parseHosts(url)[0] as Host, { max: connections, ...options });

/** The shard that is the search path of a URL of a test; null for one database. */
export const shardOfUrl = (url: string): number | null => {
  const [, number] = /[?&]search_path=s(\d+)(?:&|$)/.exec(url) ?? [];
  return number === undefined ? null : Number(number);
};

/** Another pool on the database of a test, like that of another process. */
export const connectTo = ({ url }: { url: string }, options: PoolOptions = {}): Db => {
  const shard = shardOfUrl(url);
  return connect(url, { connectMs: PATIENT.connectMs, ...options, shard: shard === null ? null : shardOptions(shard) });
};
