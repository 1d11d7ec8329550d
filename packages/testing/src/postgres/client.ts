/** Plain clients of PostgreSQL. */
import { driver } from "@realtime-avatar/db/connection/server/driver";
import { type Host, hostsOf } from "@realtime-avatar/db/connection/server/hosts";
import type postgres from "postgres";

/** The URL of another database of the server. */
export const withDatabase = (url: string, name: string): string => {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
};

/** Opens a plain client of the first host of a URL. */
export const client = (url: string, connections = 1, options: object = {}): postgres.Sql =>
  driver(url, hostsOf(url)[0] as Host, { max: connections, ...options });
