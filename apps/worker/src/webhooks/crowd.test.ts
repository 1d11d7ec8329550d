/** Many hostile receivers at once: others are served, and the sender's memory and response time stay bounded. */
import { expect, test } from "bun:test";
import type { TLSSocket } from "node:tls";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { seedAvatar, seedCaller } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { http, startServer } from "../remote/server.testing.ts";
import { deliveriesTo, seedSealedEndpoint, settled, startTestSender } from "./world.testing.ts";

const TENANTS = process.env["LONG"] === "1" ? 20 : 4;
const { db } = await fileDatabase();
const EARLY = http(103, { Link: "</a>" }).repeat(50);
const LARGE = Buffer.alloc(16_384, "x");

/** Writes continuously, as fast as the other side reads. */
const flood = (socket: TLSSocket, bytes: string | Buffer): void => {
  const write = () => {
    while (socket.writable && socket.write(bytes));
  };
  socket.on("drain", write);
  write();
};
const HOSTILE: ((socket: TLSSocket) => void)[] = [
  () => {},
  (socket) => void socket.write(http(200, { "Content-Length": 50 }, "hello")),
  (socket) => {
    socket.write(http(200, { "Content-Length": 1_000_000_000 }));
    flood(socket, LARGE);
  },
  (socket) => flood(socket, EARLY),
  (socket) => void socket.write(http(101, { Upgrade: "websocket", Connection: "Upgrade" })),
  (socket) => void socket.resetAndDestroy(),
  (socket) => void socket.write("HTTP/1.1 200 OK\r\nX: "),
  (socket) => void socket.end("nothing of HTTP\r\n\r\n"),
];
let served = 0;
const server = await fixture(
  startServer((path, socket) => {
    if (path === "/good") {
      served += 1;
      socket.write(http(200, { "Content-Length": 0 }));
    } else HOSTILE[Number(path.slice(1)) % HOSTILE.length]?.(socket);
  }),
);
const urlOf = (path: string): string => `https://files.example.com:${server.port}${path}`;

test(`ten hostile receivers of each of ${TENANTS} tenants, and another tenant: all of its events arrive, each attempt ends, and memory is bounded`, async () => {
  const hostile: string[] = [];
  for (let tenant = 0; tenant < TENANTS; tenant++) {
    const caller = await seedCaller(db);
    for (let i = 0; i < 10; i++) {
      const url = urlOf(`/${tenant + i}`);
      hostile.push((await seedSealedEndpoint(db, caller, { url, events: ["avatar.created"] })).id);
    }
    await seedAvatar(db, caller);
  }
  const good = await seedCaller(db);
  const endpoint = await seedSealedEndpoint(db, good, { url: urlOf("/good"), events: ["avatar.created"] });
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  let largest = before;
  const watching = setInterval(() => {
    largest = Math.max(largest, process.memoryUsage.rss());
  }, 20);
  const sender = startTestSender(db, { network: server.network, totalMs: 4000 });
  await until(() => server.requests.length > 0);
  await Promise.all(Array.from({ length: 20 }, () => seedAvatar(db, good)));
  // On a slow machine, a first attempt may be too slow. Then the next attempt delivers the event.
  await until(async () => (await deliveriesTo(db, endpoint.id)).every(({ status }) => status === "delivered"));
  expect(await deliveriesTo(db, endpoint.id)).toHaveLength(20);
  expect(served).toBeGreaterThanOrEqual(20);
  // hostile.test.ts tests the end of each. On a slow machine, more of them are too slow.
  const ends = ["connection_failed", "invalid_response", "timed_out", null];
  for (const id of hostile)
    for (const { attempts } of await settled(db, id)) expect(ends).toContain(attempts[0]?.error ?? null);
  await sender.stop();
  clearInterval(watching);
  // The receivers are also in this process, so their sockets and buffers count.
  expect(largest - before).toBeLessThan(300_000_000);
});
