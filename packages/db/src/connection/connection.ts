/**
 * One connection to PostgreSQL, made once, to a server that takes writes, and thrown away at the first doubt. The
 * `postgres` driver speaks the protocol here and does nothing else, since what it makes of a connection that fails is
 * not to be relied on (github.com/porsager/postgres):
 *
 * - Its pool connects again by itself: after ten seconds and more once the server has been away for a while, and with
 *   what the dead connection has left behind, so that the next one is told of errors that are not its own. Here a driver
 *   has one connection, and goes with it.
 * - Queries that wait in it may never settle (issue 1186), and against a frozen server none does. Here nothing waits in
 *   it, and whoever has waited for too long ends the connection by its socket, which is ours.
 * - A socket that closes while the driver writes, or just after, can end the process by a TypeError (issues 1066, 1154,
 *   1208): it then writes what is left to the next socket, which is not there yet. Here there is no next one; for the one
 *   client that does connect again, the lease of the embedded server, `patches/` has what is left forgotten.
 * - A statement that the server has forgotten it sends again by itself, with parameters that it has serialized twice.
 *   `patches/` has that switched off; the pool does it.
 * - `begin()` can run the rest of one block inside another's transaction (issues 1215, 1216). Nothing here uses it: what
 *   belongs together is one statement.
 */
import { connect as connectSocket, type Socket } from "node:net";
import postgres from "postgres";

/** A server, by its name or address, or by the folder of its socket. */
export type Host = { host: string; port: number };

export type Connection = {
  readonly host: Host;
  /** Runs one statement; nothing else may run meanwhile. An answer of the server's that is an error is thrown. */
  run<Row extends object>(text: string, parameters: readonly unknown[]): Promise<Row[]>;
  /** Asks the server to stop what runs here, and hangs up then. Waits for neither. */
  abandon(): void;
};

export type ConnectionOptions = {
  /** False behind a pooler in transaction mode that does not keep prepared statements (PgBouncer before 1.21). */
  prepare: boolean;
  /** How long it may take until the connection can be used, in milliseconds. */
  connectMs: number;
  /**
   * Whether a server that TLS has not verified may be told the password in clear or hashed with MD5. By default such a
   * request is refused, with the code WEAK_AUTH_REFUSED.
   */
  allowWeakAuth?: boolean | undefined;
};

/** Why there is no connection to a server that answers. */
class Unusable extends Error {
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message);
  }
}

const QUOTED = /["\\]/;
/**
 * `text[]`. What is written may be anything, and is quoted; what is read is scopes, ids and names of fields, and hold
 * nothing that PostgreSQL would quote.
 */
export const TEXT_ARRAY = {
  to: 1009,
  from: [1009],
  serialize: (list: readonly (string | null)[]): string =>
    `{${list.map((item) => (item === null ? "NULL" : `"${QUOTED.test(item) ? item.replace(/["\\]/g, "\\$&") : item}"`)).join(",")}}`,
  parse: (text: string): string[] => (text === "{}" ? [] : text.slice(1, -1).split(",")),
};

/** How the driver is set, wherever it is used. */
const DRIVER = {
  max: 1,
  onnotice: () => {},
  // The driver would ask each new connection for the types of arrays, and let the process end if that connection dies
  // meanwhile: nothing handles the rejection. We know the one type of array that we use.
  fetch_types: false,
  types: { textArray: TEXT_ARRAY },
  connection: { application_name: "realtime-avatar" },
  max_lifetime: null,
} as const;

const HOSTS = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#]+)/;

/** The servers that a `postgres://` URL names, separated by commas. Throws when it is none. */
export const hostsOf = (url: string): Host[] => {
  const [, hosts] = HOSTS.exec(url) ?? [];
  if (hosts === undefined) throw new TypeError("not a postgres:// URL");
  return hosts.split(",").map((text) => {
    const { hostname, port } = new URL(`postgres://${text}`);
    return { host: decodeURIComponent(hostname).replace(/^\[(.*)\]$/, "$1"), port: Number(port || 5432) };
  });
};

type Driver = postgres.Options<Record<string, postgres.PostgresType>>;

/** The path of a server's Unix socket; `null` for a server that is reached by TCP. */
export const socketPath = ({ host, port }: Host): string | null =>
  host.startsWith("/") ? `${host}/.s.PGSQL.${port}` : null;

/**
 * The driver, for what needs it whole: it connects to `host`, as the user and to the database of `url`. On a Unix socket
 * there is no TLS, whatever `sslmode` says, as with libpq.
 */
export const driver = (url: string, { host, port }: Host, options: object = {}): postgres.Sql => {
  const path = socketPath({ host, port });
  // Its types know neither lists of hosts nor sockets of our own, which it takes.
  // Nor can it read every list of hosts that is one.
  return postgres(
    url.replace(HOSTS, (start, hosts: string) => `${start.slice(0, -hosts.length)}localhost`),
    {
      ...DRIVER,
      host: [host],
      port: [port],
      ...(path === null ? {} : { path, ssl: false }),
      ...options,
    } as unknown as Driver,
  );
};

/** Opens a socket; `keep` is given it at once, so that it can be destroyed while it connects. */
const dial = ({ host, port }: Host, keep: (socket: Socket) => void): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const path = socketPath({ host, port });
    const socket = connectSocket(path === null ? { host, port } : { path });
    keep(socket);
    socket.once("error", reject).once("connect", () => {
      socket.removeListener("error", reject);
      // The driver names the server by it in the handshake of TLS.
      resolve(Object.assign(socket, { host }));
    });
  });

/**
 * Has each prepared statement planned once, whatever its values. By itself the server plans ours anew each time when the
 * tables have grown, since it takes each list for ten long and finds that one item would cost less: half of its work then.
 * Set in the session, and not as it starts, which poolers refuse; without prepared statements nothing is kept anyway. A
 * pooler in transaction mode that keeps prepared statements gives it to whatever connection it has at hand: nothing depends
 * on it but time.
 */
const PLAN_ONCE = ", set_config('plan_cache_mode', 'force_generic_plan', false)";

/** Whether the session's transactions are read-only: on a standby, or by `default_transaction_read_only`. */
export const READ_ONLY = `current_setting('transaction_read_only') = 'on' as "readOnly"`;

/** What identifies a connection to its server: its process there, and a number that only the two know. */
type Backend = { pid: number; secret: number };

/**
 * Asks the server to stop what it runs for a connection (PostgreSQL's CancelRequest), on another connection, and calls
 * `done` when the server has ended that, or after `milliseconds`. As libpq does, nothing is ended on our side before: to
 * PgBouncer, a client that has gone has nothing to cancel, and one that hangs up behind its request ends PgBouncer 1.18
 * (pgbouncer/pgbouncer, issue 801). The request goes unencrypted, as it may, and holds no secret that is worth anything
 * once the connection has ended.
 */
const cancel = (host: Host, { pid, secret }: Backend, milliseconds: number, done: () => void): void => {
  const request = Buffer.alloc(16);
  for (const [index, word] of [16, 80_877_102, pid, secret].entries()) request.writeInt32BE(word | 0, index * 4);
  let socket: Socket | null = null;
  let isDone = false;
  const finish = (): void => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    socket?.destroy();
    done();
  };
  const timer = setTimeout(finish, milliseconds);
  dial(host, (opened) => {
    socket = opened;
  }).then((opened) => opened.on("error", finish).on("close", finish).resume().write(request), finish);
};

/**
 * Connects to `host`, as the user and to the database of `url`. Throws when it cannot be reached in time, or takes no
 * writes. `onClose` is called once, when a connection that was open ends, for whatever reason.
 */
export const openConnection = async (
  url: string,
  host: Host,
  { prepare, connectMs, allowWeakAuth }: ConnectionOptions,
  onClose: (connection: Connection) => void,
): Promise<Connection> => {
  let socket: Socket | null = null;
  let connection: Connection | null = null;
  const client = driver(url, host, {
    prepare,
    connect_timeout: connectMs / 1000,
    weak_auth: allowWeakAuth === true,
    onclose: () => {
      if (connection) onClose(connection);
    },
    socket: () => {
      // The driver would dial again when the server hangs up during the handshake.
      if (socket) throw new Unusable("the server has hung up", "CONNECTION_CLOSED");
      return dial(host, (opened) => {
        socket = opened;
      });
    },
  });
  const hangUp = (): void => {
    socket?.destroy();
  };

  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Unusable("the server did not answer in time", "CONNECT_TIMEOUT"));
      hangUp();
    }, connectMs);
  });
  let backend: Backend;
  try {
    const asked = client.unsafe<{ standby: boolean; readOnly: boolean }[]>(
      `select pg_is_in_recovery() as standby, ${READ_ONLY}${prepare ? PLAN_ONCE : ""}`,
    );
    const answer = await Promise.race([asked, late]);
    backend = answer.state as unknown as Backend;
    if (answer[0]?.standby !== false) throw new Unusable("the server is a standby", "STANDBY");
    if (answer[0].readOnly !== false) throw new Unusable("the server is read-only", "READ_ONLY");
  } catch (error) {
    hangUp();
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
        return await client.unsafe<Row[]>(text, parameters as never[], { prepare });
      } finally {
        isRunning = false;
      }
    },
    abandon: () => {
      if (!isRunning || !socket || socket.destroyed) {
        hangUp();
        return;
      }
      // The very server that this connection has, whatever its name has come to mean since.
      const server = { host: socket.remoteAddress ?? host.host, port: host.port };
      cancel(server, backend, connectMs, hangUp);
    },
  };
  return connection;
};
