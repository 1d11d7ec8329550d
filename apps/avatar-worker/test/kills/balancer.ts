/**
 * A load balancer for TCP, as a program: `balancer.ts PORT …`. Each connection goes to the next of the programs at these
 * ports of loopback that listens, and is closed when no program listens. It prints its address. In the process of the
 * test, it would delay the syncs of avatar workers while the test is busy, and the service would take them for lost.
 */
import { connect, createServer, type Socket } from "node:net";

const ports = process.argv.slice(2).map(Number);
let turn = 0;

const join = (near: Socket, far: Socket): void => {
  const end = (): void => {
    near.destroy();
    far.destroy();
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
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
});
