/** A load balancer for TCP: each connection goes to the next program that listens. */
import { connect, createServer, type Socket } from "node:net";

export type Balancer = { url: string; close(): void };

/** `ports`: the ports of the programs, on loopback. A connection is closed when no program listens. */
export const startBalancer = async (ports: readonly number[]): Promise<Balancer> => {
  const open = new Set<Socket>();
  let turn = 0;
  const join = (near: Socket, far: Socket): void => {
    open.add(near).add(far);
    const end = (): void => {
      for (const socket of [near, far]) {
        socket.destroy();
        open.delete(socket);
      }
    };
    near.on("close", end);
    far.on("close", end);
    near.pipe(far).pipe(near);
  };
  const dial = (near: Socket, attempts: number): void => {
    if (attempts === 0) {
      near.destroy();
      return;
    }
    const far = connect(ports[turn++ % ports.length] ?? 0, "127.0.0.1");
    let isJoined = false;
    far.on("error", () => {
      if (!isJoined) dial(near, attempts - 1);
    });
    far.on("connect", () => {
      isJoined = true;
      join(near, far);
    });
  };
  const server = createServer((near) => {
    near.on("error", () => {});
    dial(near, ports.length);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
};
