/**
 * One connection to a PostgreSQL server that takes writes. It is never reconnected: at the first doubt it is discarded.
 *
 * The `postgres` driver speaks the protocol and does nothing else, because its handling of failed connections is not
 * reliable (issues of github.com/porsager/postgres):
 *
 * - Its pool reconnects by itself: 10 s or more after a longer outage, and with state of the dead connection, so that
 *   the next connection receives errors of the dead one. Here a driver instance has one connection and ends with it.
 * - Queries queued in it may never settle (1186); against a frozen server no query settles. Here nothing is queued in
 *   it. A deadline ends the connection by its socket, which we own.
 * - A socket that closes while the driver writes, or just after, can end the process with a TypeError (1066, 1154, 1208):
 *   the driver writes the rest to the next socket, which does not exist yet. Here no next socket exists. One client
 *   does reconnect, the lease of the embedded server; for it, `patches/` makes the driver drop the rest.
 * - When the server has forgotten a statement, the driver sends it again by itself, with parameters serialized twice.
 *   `patches/` turns that off; the pool sends it again.
 * - It lets the server describe a new statement before it sends the values. When `statement_timeout` ends that wait,
 *   the server reports the error, then executes the values that follow, and the next statement receives their rows.
 *   Here values are encoded before, and `patches/` sends them together with the statement (`encoded`). That also saves
 *   a round trip. After a time-out the state of the connection is still in doubt, so the connection is discarded.
 * - `begin()` can run the rest of one block inside the transaction of another block (1215, 1216). It is not used here:
 *   work that belongs together is one statement.
 */
import type { Socket } from "node:net";
import type postgres from "postgres";
import { driver } from "./driver.ts";
import { encodeValue } from "./encode.ts";
import type { Host } from "./hosts.ts";
import { type Backend, cancelStatement, openSocket } from "./socket.ts";

export type Connection = {
  readonly host: Host;
  /** Runs one statement; only one may run at a time. Throws the server's error. */
  run<Row extends object>(text: string, parameters: readonly unknown[]): Promise<Row[]>;
  /** Cancels the running statement, then closes the socket. Returns at once. */
  abandon(): void;
};

export type ConnectionOptions = {
  /** False behind a pooler in transaction mode that does not keep prepared statements (PgBouncer before 1.21). */
  prepare: boolean;
  /** The maximum time until the connection can be used, in milliseconds. */
  connectMs: number;
  /**
   * Whether a server that TLS has not verified may receive the password in clear text or hashed with MD5. By default
   * such a request is refused, with the code WEAK_AUTH_REFUSED.
   */
  allowWeakAuth?: boolean | undefined;
  /** For a shard: the schema of its tables. The server decides when it plans the statements of a shard. */
  searchPath?: string | undefined;
};

/** The error of a connection that could not be opened. */
class ConnectError extends Error {
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message);
  }
}

/**
 * Makes the server plan each prepared statement once, for all values, and by indexes. By default it makes a new plan for
 * each execution when the tables have grown, because it assumes ten items for each list and expects one item to be
 * cheaper; that was half of its work. A plan that was made while a table had a few pages would read that table whole, and
 * stay while the table grows, until it is analyzed again. Set in the session, because poolers refuse such start-up
 * parameters, and only with prepared statements, because others keep no plan. A pooler in transaction mode may apply it to
 * any of its server connections: only speed depends on it.
 *
 * A plan that reads a table without an index then has a cost at which the server compiles it for each execution (`jit`), which takes
 * longer than the statement.
 */
const BY_INDEX = ", set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false)";
const PLAN_ONCE = `, set_config('plan_cache_mode', 'force_generic_plan', false)${BY_INDEX}`;

/** The settings of a session, as further columns of its first query. */
const settingsOf = ({ prepare, searchPath }: Pick<ConnectionOptions, "prepare" | "searchPath">): string => {
  if (searchPath !== undefined) {
    return `, set_config('search_path', '${searchPath}', false), set_config('plan_cache_mode', 'auto', false)${BY_INDEX}`;
  }
  return prepare ? PLAN_ONCE : "";
};

/** The driver refuses `undefined`. */
const encodeParameter = (value: unknown): unknown =>
  value === null || value === undefined ? value : encodeValue(value);

/** Whether the session's transactions are read-only: on a standby, or by `default_transaction_read_only`. */
export const READ_ONLY = `current_setting('transaction_read_only') = 'on' as "readOnly"`;

/** Connects. Throws when the server takes no writes. Returns the identity of the connection at the server. */
const handshake = async (client: postgres.Sql, settings: string, timeout: Promise<never>): Promise<Backend> => {
  const query = client.unsafe<{ standby: boolean; readOnly: boolean }[]>(
    `select pg_is_in_recovery() as standby, ${READ_ONLY}${settings}`,
  );
  const rows = await Promise.race([query, timeout]);
  if (rows[0]?.standby !== false) throw new ConnectError("the server is a standby", "STANDBY");
  if (rows[0].readOnly !== false) throw new ConnectError("the server is read-only", "READ_ONLY");
  return rows.state as unknown as Backend;
};

/**
 * Connects to `host`, with the user, password and database of `url`. Throws when this takes longer than `connectMs`, or
 * when the server takes no writes. `onClose` is called once, when the open connection ends for any reason.
 */
export const openConnection = async (
  url: string,
  host: Host,
  { prepare, connectMs, allowWeakAuth, searchPath }: ConnectionOptions,
  onClose: (connection: Connection) => void,
): Promise<Connection> => {
  let socket: Socket | null = null;
  let connection: Connection | null = null;
  const closeSocket = (): void => {
    socket?.destroy();
  };
  const client = driver(url, host, {
    prepare,
    connect_timeout: connectMs / 1000,
    weak_auth: allowWeakAuth === true,
    onclose: () => {
      if (connection) onClose(connection);
    },
    socket: () => {
      // Otherwise the driver would connect again when the server closes the connection during the handshake.
      if (socket) throw new ConnectError("the server has closed the connection", "CONNECTION_CLOSED");
      return openSocket(host, (created) => {
        socket = created;
      });
    },
  });

  let timer: Timer | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new ConnectError("the server did not respond in time", "CONNECT_TIMEOUT"));
      closeSocket();
    }, connectMs);
  });
  let backend: Backend;
  try {
    backend = await handshake(client, settingsOf({ prepare, searchPath }), timeout);
  } catch (error) {
    closeSocket();
    throw error;
  } finally {
    clearTimeout(timer);
  }

  let isRunning = false;
  connection = {
    host,
    run: async <Row extends object>(text: string, parameters: readonly unknown[]): Promise<Row[]> => {
      isRunning = true;
      try {
        return await client.unsafe<Row[]>(
          text,
          parameters.map(encodeParameter) as never[],
          { prepare, encoded: true } as never,
        );
      } finally {
        isRunning = false;
      }
    },
    abandon: () => {
      if (!isRunning || !socket || socket.destroyed) {
        closeSocket();
        return;
      }
      // The address that this connection uses, because the name may resolve to another server by now.
      const server = { host: socket.remoteAddress ?? host.host, port: host.port };
      cancelStatement(server, backend, connectMs, closeSocket);
    },
  };
  return connection;
};
