/** Sockets to a PostgreSQL server: opening one, and PostgreSQL's request to cancel a statement. */
import { connect, type Socket } from "node:net";
import { type Host, socketPath } from "./hosts.ts";

/** Opens a socket. `onCreate` receives it before it is connected, so that the caller can destroy it while it connects. */
export const openSocket = ({ host, port }: Host, onCreate: (socket: Socket) => void): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const path = socketPath({ host, port });
    const socket = connect(path === null ? { host, port } : { path });
    onCreate(socket);
    socket.once("error", reject).once("connect", () => {
      socket.removeListener("error", reject);
      // The driver reads the server's name for TLS from this property.
      resolve(Object.assign(socket, { host }));
    });
  });

/** Identifies a connection to its server: the process there, and a number that only server and client know. */
export type Backend = { pid: number; secret: number };

/** The length of a CancelRequest in bytes, and its code (PostgreSQL's documentation, "Message Formats"). */
const CANCEL_LENGTH = 16;
const CANCEL_CODE = 80_877_102;

/**
 * Asks the server, on a second connection, to cancel the running statement of a connection. Calls `done` when the
 * server has closed that second connection, or after `milliseconds`.
 *
 * The caller must keep the first connection open until `done`, as libpq does: PgBouncer cancels nothing for a client
 * that has gone. The second connection is not half-closed, because that would end PgBouncer 1.18 (pgbouncer/pgbouncer,
 * issue 801). The request is not encrypted, which the protocol allows. Its secret has no use after the end of the
 * connection.
 */
export const cancelStatement = (host: Host, { pid, secret }: Backend, milliseconds: number, done: () => void): void => {
  const request = Buffer.alloc(CANCEL_LENGTH);
  for (const [index, word] of [CANCEL_LENGTH, CANCEL_CODE, pid, secret].entries()) {
    request.writeInt32BE(word | 0, index * 4);
  }
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
  openSocket(host, (opened) => {
    socket = opened;
  }).then((opened) => opened.on("error", finish).on("close", finish).resume().write(request), finish);
};
