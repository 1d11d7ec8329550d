/**
 * The data that the relay passes on, and the reasons for closing it with all connections. relay.test.ts uses a server
 * with TLS.
 */
import { afterAll, expect, test } from "bun:test";
import { connect, createServer, type Socket } from "node:net";
import { SignalResponse } from "@livekit/protocol";
import { until } from "@realtime-avatar/testing/until";
import { startRelay } from "./relay.ts";
import { encodeFrame } from "./websocket.ts";

const PONG = encodeFrame({
  kind: "binary",
  payload: new SignalResponse({ message: { case: "pong", value: 1n } }).toBinary(),
});
const ping = (bytes: number): Buffer => encodeFrame({ kind: "ping", payload: new Uint8Array(bytes) });
/** A message of 300,000 bytes in an unknown field (100) of the protocol. */
const UNKNOWN = encodeFrame({
  kind: "binary",
  payload: Buffer.concat([Buffer.from([0xa2, 0x06, 0xe0, 0xa7, 0x12]), Buffer.alloc(300_000)]),
});
const OPEN = `HTTP/1.1 101 Switching Protocols\r\nServer: x\r\nSec-WebSocket-Accept: ${"a".repeat(27)}=\r\n\r\n`;

/** The response of the server for each path. */
const RESPONSES: Record<string, (socket: Socket) => unknown> = {
  "/open": (socket) => socket.write(OPEN),
  "/message": (socket) => socket.write(Buffer.concat([Buffer.from(OPEN), ping(3), PONG])),
  "/redirect": (socket) =>
    socket.write("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nContent-Length: 5\r\n\r\nhello"),
  "/end": (socket) => socket.end(OPEN),
  "/not-http": (socket) => socket.write("hello\r\n\r\n"),
  "/header": (socket) => socket.write(`HTTP/1.1 101 x\r\nX: ${"x".repeat(64 * 1024)}`),
  "/bytes": (socket) => socket.write(Buffer.concat([Buffer.from(OPEN), UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN])),
  "/messages": (socket) => socket.write(Buffer.concat([Buffer.from(OPEN), ...Array(5100).fill(ping(0))])),
  "/text": (socket) => socket.write(Buffer.concat([Buffer.from(OPEN), Buffer.from([0x81, 1, 65])])),
};
const requests: string[] = [];
const sockets = new Set<Socket>();
const server = createServer((socket) => {
  sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)));
  socket.once("data", (bytes) => {
    requests.push(bytes.toString("latin1"));
    RESPONSES[bytes.toString("latin1").split(" ")[1] ?? ""]?.(socket);
  });
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as { port: number };
afterAll(() => void server.close());

const open = async () => {
  let refusals = 0;
  const relay = await startRelay(`ws://127.0.0.1:${port}`, () => refusals++);
  /** Sends a request. `received`: the response so far. `isClosed`: whether the connection has ended. */
  const ask = (path: string, fields = "Upgrade: websocket\r\n") => {
    let received = "";
    let isClosed = false;
    const socket = connect(Number(new URL(relay.url).port), "127.0.0.1");
    socket
      .on("error", () => {})
      .on("data", (bytes) => {
        received += bytes.toString("latin1");
      });
    socket.on("close", () => {
      isClosed = true;
    });
    socket.write(`GET ${path} HTTP/1.1\r\nHost: relay\r\nAuthorization: Bearer token\r\n${fields}\r\n`);
    return { received: () => received, isClosed: () => isClosed, socket };
  };
  return { relay, ask, refusals: () => refusals };
};

test("a connection: the request passes without extensions, the response with the fields that the library needs", async () => {
  const { relay, ask } = await open();
  const { received } = ask("/message", "Upgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n");
  await until(() => received().endsWith(PONG.toString("latin1")));
  expect(requests.at(-1)).toBe(
    `GET /message HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer token\r\nUpgrade: websocket\r\n\r\n`,
  );
  const [head = "", frames] = received().split("\r\n\r\n");
  expect(head.split("\r\n").sort()).toEqual(
    [
      "Connection: Upgrade",
      "HTTP/1.1 101 Switching Protocols",
      OPEN.split("\r\n")[2] ?? "",
      "Upgrade: websocket",
    ].sort(),
  );
  expect(frames).toBe(Buffer.concat([ping(3), PONG]).toString("latin1"));
  relay.close();
});

test("a redirect: only its status passes, without the address", async () => {
  const { relay, ask, refusals } = await open();
  const { received } = ask("/redirect");
  await until(() => received() !== "");
  expect([received(), refusals()]).toEqual([
    "HTTP/1.1 302 Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    0,
  ]);
  relay.close();
});

test.each(["the relay is closed", "the server ends its connection", "the library ends its connection"])(
  "when %s: all connections are closed on both sides",
  async (end) => {
    const { relay, ask, refusals } = await open();
    const asked = [ask("/open"), ask(end.includes("server") ? "/end" : "/open")];
    await until(() => asked.every(({ received }) => received() !== ""));
    if (end.includes("relay")) relay.close();
    else if (end.includes("library")) asked[1]?.socket.destroy();
    await until(() => asked[1]?.isClosed() === true && sockets.size === (end.includes("relay") ? 0 : 1));
    expect([refusals(), asked[0]?.isClosed()]).toEqual([0, end.includes("relay")]);
    relay.close();
    await until(() => sockets.size === 0);
    // The relay no longer listens.
    const { isClosed, received } = ask("/open");
    await until(isClosed);
    expect(received()).toBe("");
  },
);

test.each(["/not-http", "/header", "/bytes", "/messages", "/text"])(
  "a server that sends too much, or invalid data (%s): one report, and all connections end",
  async (path) => {
    const { ask, refusals } = await open();
    const asked = [ask("/open"), ask(path)];
    await until(() => asked.every(({ isClosed }) => isClosed()) && sockets.size === 0);
    expect(refusals()).toBe(1);
  },
);

test("a library that connects again and again: one report, and all connections end", async () => {
  const { ask, refusals } = await open();
  const before = requests.length;
  const asked = Array.from({ length: 30 }, () => ask("/open"));
  await until(() => asked.every(({ isClosed }) => isClosed()) && sockets.size === 0);
  expect(refusals()).toBe(1);
  expect(requests.length - before).toBeLessThanOrEqual(21);
});

test.each(["", "Upgrade: h2c\r\n"])(
  "a request that is not for a WebSocket ('%s'): the server gets nothing",
  async (fields) => {
    const { relay, ask } = await open();
    const before = requests.length;
    const { isClosed, received } = ask("/open", fields);
    await until(isClosed);
    expect([received(), requests.length]).toEqual(["", before]);
    relay.close();
  },
);
