/** Ports for servers of the tests. */
import { randomInt } from "node:crypto";
import { createServer, type Server } from "node:net";

/**
 * Below the ports that Linux, macOS and Windows give to connections, because a connection could take such a port before
 * the server starts.
 */
const [FIRST, END] = [10_000, 32_768];

/** Listens on a port of loopback that is free. */
const hold = (): Promise<Server> => {
  const server = createServer();
  const port = randomInt(FIRST, END);
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" || error.code === "EACCES" ? resolve(hold()) : reject(error),
    );
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
};

/** Ports on loopback that are free now. All are held at the same time, so that no two are equal. */
export const freePorts = async (count: number): Promise<number[]> => {
  const held = await Promise.all(Array.from({ length: count }, hold));
  const ports = held.map((server) => (server.address() as { port: number }).port);
  await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
};

/** One such port. */
export const freePort = async (): Promise<number> => (await freePorts(1))[0] as number;
