/** The `postgres` driver, with the settings for every use. */
import postgres from "postgres";
import { encodeList } from "./encode.ts";
import { type Host, socketPath, withoutHosts } from "./hosts.ts";

/**
 * `text[]`. The items that are read are scopes, ids and field names. PostgreSQL never quotes these, so a split at the
 * commas is enough.
 */
const TEXT_ARRAY = {
  to: 1009,
  from: [1009],
  serialize: (list: readonly (string | null)[]): string => encodeList(list),
  parse: (text: string): string[] => (text === "{}" ? [] : text.slice(1, -1).split(",")),
};

const SETTINGS = {
  max: 1,
  onnotice: () => {},
  // The driver would query the array types on each new connection. If the connection dies then, the rejection is
  // unhandled and ends the process. `text[]` is the only array type in use.
  fetch_types: false,
  types: { textArray: TEXT_ARRAY },
  connection: { application_name: "realtime-avatar" },
  max_lifetime: null,
} as const;

type DriverOptions = postgres.Options<Record<string, postgres.PostgresType>>;

/**
 * A client of `host`, with the user, password and database of `url`. On a Unix socket there is no TLS, whatever
 * `sslmode` says, as with libpq.
 */
export const driver = (url: string, { host, port }: Host, options: object = {}): postgres.Sql => {
  const path = socketPath({ host, port });
  const settings = {
    ...SETTINGS,
    host: [host],
    port: [port],
    ...(path === null ? {} : { path, ssl: false }),
    ...options,
  };
  // The driver accepts a list of hosts and an open socket, but its types declare neither. The URL names one host,
  // because the driver cannot parse every valid list of hosts.
  return postgres(withoutHosts(url), settings as unknown as DriverOptions);
};
