/** Connections to receivers: kept with the checked addresses, and bounded. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { fixture } from "@realtime-avatar/testing/fixture";
import { REPOSITORY } from "@realtime-avatar/testing/processes";
import { createConnections } from "./connections.ts";
import { createPoster, MAX_READ_BYTES, type Message, TIMES } from "./post.ts";
import { http, startServer } from "./server.testing.ts";

const OK = http(200, { "Content-Length": 2 }, "ok");
const sockets: TLSSocket[] = [];
let resets = 0;
const server = await fixture(
  startServer((path, socket) => {
    if (!sockets.includes(socket)) sockets.push(socket);
    if (path === "/long") socket.write(http(200, { "Content-Length": 1_000_000 }, "x".repeat(100_000)));
    else if (path === "/endless")
      socket.write(http(200, { "Content-Length": 1_000_000 }, "x".repeat(MAX_READ_BYTES + 1)));
    else if (path === "/close") socket.end(http(200, { "Content-Length": 2, Connection: "close" }, "ok"));
    else if (path === "/reset") {
      resets++;
      socket.resetAndDestroy();
    } else if (path === "/099") socket.write("HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n");
    else if (path === "/twice") socket.write(OK + http(200, { "Content-Length": 4 }, "evil"));
    else socket.write(OK);
  }),
);
const { signal } = new AbortController();
// The server reads no bodies.
const messageTo = (path: string, receiver = "whe_1"): Message => ({
  receiver,
  url: `https://files.example.com:${server.port}${path}`,
  headers: {},
  body: "",
});
const open = (connections = createConnections()) => ({
  connections,
  // Long enough for any receiver of a test on a busy machine.
  poster: createPoster({ network: server.network, connectMs: 60_000, totalMs: 60_000, bodyMs: 200 }, connections),
});

test("messages to one receiver, one after another: one connection, looked up once", async () => {
  let lookUps = 0;
  const resolve = async () => {
    lookUps += 1;
    return ["127.0.0.1"];
  };
  const network = { ...server.network, resolve };
  const poster = createPoster({ network });
  const before = server.connections();
  for (let i = 0; i < 5; i++) expect(await poster.post(messageTo("/ok"), signal)).toMatchObject({ status: 200 });
  expect([server.connections() - before, lookUps]).toEqual([1, 1]);
  poster.close();
});

test("messages in steady traffic: looked up again each 30 seconds; a moved host gets a new connection", async () => {
  let [now, lookUps] = [0, 0];
  let addresses = ["127.0.0.1"];
  const resolve = async () => {
    lookUps += 1;
    return addresses;
  };
  const connections = createConnections(() => now, 3_600_000);
  const poster = createPoster({ network: { ...server.network, resolve } }, connections);
  const before = server.connections();
  for (; now <= 60_000; now += 10_000) await poster.post(messageTo("/ok"), signal);
  expect([lookUps, server.connections() - before]).toEqual([3, 1]);
  addresses = ["127.0.0.1", "127.0.0.2"];
  for (; now <= 120_000; now += 10_000) await poster.post(messageTo("/ok"), signal);
  expect([lookUps, server.connections() - before]).toEqual([5, 2]);
  poster.close();
});

test("messages to two receivers with one host: a connection for each", async () => {
  const { poster } = open();
  const before = server.connections();
  for (const receiver of ["whe_1", "whe_2", "whe_1"]) await poster.post(messageTo("/ok", receiver), signal);
  expect(server.connections() - before).toBe(2);
  poster.close();
});

test.each(["/long", "/close"])("a message after the response %s: a new connection", async (path) => {
  const { poster } = open();
  const before = server.connections();
  expect(await poster.post(messageTo(path), signal)).toMatchObject({ status: 200 });
  expect(await poster.post(messageTo("/ok"), signal)).toMatchObject({ status: 200, body: Buffer.from("ok") });
  expect(server.connections() - before).toBe(2);
  poster.close();
});

test("a response of more than 64 KiB that does not end: cut", async () => {
  const poster = createPoster({ network: server.network, totalMs: 600_000, bodyMs: 600_000 });
  // Without the bound, this test would time out.
  expect(await poster.post(messageTo("/endless"), signal)).toMatchObject({ status: 200 });
  poster.close();
});

test("the bounds of an attempt: those of docs/webhooks.md", async () => {
  const document = (await Bun.file(join(REPOSITORY, "docs/webhooks.md")).text()).replace(/\s+/g, " ");
  expect(document).toContain(`Respond with a 2xx within ${TIMES.totalMs / 1000} seconds`);
  expect(document).toContain(`At most ${MAX_READ_BYTES / 1024} KiB of a response are read`);
});

test("a kept connection that the receiver has closed: the message is sent on a new connection", async () => {
  const { poster } = open();
  await poster.post(messageTo("/ok"), signal);
  for (let i = 0; i < 10; i++) {
    sockets.at(-1)?.resetAndDestroy();
    expect(await poster.post(messageTo("/ok"), signal)).toMatchObject({ status: 200 });
  }
  poster.close();
});

test("a new connection that the receiver resets after the message: the message is sent once", async () => {
  const { poster } = open();
  expect(await poster.post(messageTo("/reset"), signal)).toMatchObject({ code: "connection_failed" });
  expect(resets).toBe(1);
  poster.close();
});

test("bytes after a response: never the response to the next message", async () => {
  const { poster } = open();
  for (let i = 0; i < 5; i++) {
    await poster.post(messageTo("/twice"), signal);
    const next = await poster.post(messageTo("/ok"), signal);
    if (next.kind === "posted") expect(String(next.body)).toBe("ok");
    else expect(["connection_failed", "invalid_response"]).toContain(next.code);
  }
  poster.close();
});

test("more receivers than kept connections: the least recently used ones are closed", async () => {
  // The clock stands still, so no connection is closed for being idle.
  const { poster, connections } = open(createConnections(() => 0));
  for (let i = 0; i < 300; i += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, j) => poster.post(messageTo("/ok", `whe_${i + j}`), signal)));
  }
  expect(connections.size()).toBe(256);
  poster.close();
  expect(connections.size()).toBe(0);
});

test("a message, canceled before it is sent: canceled", async () => {
  const { poster } = open();
  expect(await poster.post(messageTo("/ok"), AbortSignal.abort())).toMatchObject({ code: "canceled" });
  poster.close();
});

test("a message: sent with its headers and body; the first 512 bytes of the response are kept, none of an encoded one", async () => {
  const own = await fixture(
    startServer((path, socket) => {
      const encoding = path === "/gzip" ? { "Content-Encoding": " GZIP" } : {};
      socket.write(http(200, { "Content-Length": 600, "Retry-After": "7", ...encoding }, "x".repeat(600)));
    }),
  );
  const poster = createPoster({ network: own.network });
  const send = (path: string) =>
    poster.post(
      { ...messageTo(path), url: `https://files.example.com:${own.port}${path}`, headers: { "X-Own": "1" } },
      signal,
    );
  expect(await send("/plain")).toEqual({
    ...{ kind: "posted", status: 200, retryAfter: "7", body: Buffer.from("x".repeat(512)) },
  });
  expect(await send("/gzip")).toMatchObject({ kind: "posted", body: null });
  const [head] = own.requests;
  expect(head).toStartWith("POST /plain HTTP/1.1\r\n");
  for (const line of [/^X-Own: 1\r$/im, /^Accept-Encoding: identity\r$/im, /^Content-Length: 0\r$/im]) {
    expect(head).toMatch(line);
  }
  poster.close();
});

test("a status that HTTP does not have: invalid_response", async () => {
  const { poster } = open();
  expect(await poster.post(messageTo("/099"), signal)).toMatchObject({ code: "invalid_response" });
  poster.close();
});
