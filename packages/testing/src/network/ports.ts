/** Ports for servers of the tests. */
import { createServer } from "node:net";

/** Ports on loopback that are free now. All are held at the same time, so that no two are equal. */
export const freePorts = async (count: number): Promise<number[]> => {
  const held = await Promise.all(
    Array.from({ length: count }, () => {
      const server = createServer();
      return new Promise<typeof server>((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
    }),
  );
  const ports = held.map((server) => (server.address() as { port: number }).port);
  await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
};

/** One such port. */
export const freePort = async (): Promise<number> => (await freePorts(1))[0] as number;
