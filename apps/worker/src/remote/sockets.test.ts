/**
 * After every kind of end of an import or a delivery, no socket is open. This is read from the kernel's table of
 * connections, not from the client. The server never closes a connection by itself.
 */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { until } from "@realtime-avatar/testing/until";
import { createConnections } from "./connections.ts";
import { fetchRemote } from "./fetch.ts";
import { createPoster, MAX_READ_BYTES } from "./post.ts";
import type { Network } from "./request.ts";
import { http, startServer } from "./server.testing.ts";

const folder = await fileFolder();
setDefaultTimeout(60_000);

const TABLES = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
const canCount = existsSync("/proc/self/net/tcp");
/** Established, being established, and closed only by the other side (proc_pid_net(5)). */
const OPEN_STATES = ["01", "02", "08"];

/** How many sockets of clients are open, by the port of their server. */
const openSockets = (): Map<number, number> => {
  const lines = TABLES.flatMap((path) => (existsSync(path) ? readFileSync(path, "latin1").split("\n").slice(1) : []));
  const open = new Map<number, number>();
  for (const line of lines) {
    const [, , remote = "", state = ""] = line.trim().split(/\s+/);
    const port = Number.parseInt(remote.split(":")[1] ?? "", 16);
    if (OPEN_STATES.includes(state)) open.set(port, (open.get(port) ?? 0) + 1);
  }
  return open;
};

type Counts = Record<string, number>;
/** Half a minute. A busy machine closes sockets late. */
const ROUNDS = 600;
/**
 * Waits until each case has the expected number of open sockets. Returns the final number of each case. `ports`: those
 * of the cases.
 */
const settledSockets = async (ports: Record<string, number>, expected: Counts): Promise<Counts> => {
  for (let round = 0; ; round++) {
    const open = openSockets();
    const counts = Object.fromEntries(Object.entries(ports).map(([way, port]) => [way, open.get(port) ?? 0]));
    if (round === ROUNDS || Bun.deepEquals(counts, expected)) return counts;
    // Reading the table takes the kernel milliseconds.
    await Bun.sleep(50);
  }
};

const MAX_BYTES = 1000;
const flood = (socket: TLSSocket, bytes: string): void => {
  const write = () => {
    while (socket.writable && socket.write(bytes));
  };
  socket.on("drain", write);
  write();
};
const body = (status: number, headers = {}, text = "hello") =>
  http(status, { "Content-Length": text.length, ...headers }, text);

/** Responses after which the server leaves the connection open. */
const RESPONSES: Record<string, (socket: TLSSocket) => void> = {
  "200": (socket) => socket.write(body(200)),
  chunked: (socket) => socket.write(http(200, { "Transfer-Encoding": "chunked" }, "5\r\nhello\r\n0\r\n\r\n")),
  "more bytes than its length": (socket) => socket.write(http(200, { "Content-Length": 3 }, "hello")),
  "100 and 200": (socket) => socket.write(http(103, { Link: "</a>" }) + body(200)),
  "101": (socket) => socket.write(http(101, { Upgrade: "websocket", Connection: "Upgrade" })),
  "204": (socket) => socket.write(http(204, {})),
  "301 to another path": (socket) => socket.write(body(301, { Location: "/404" })),
  "302 to itself": (socket) => socket.write(body(302, { Location: "/302 to itself" })),
  "307 to a URL that is refused": (socket) => socket.write(body(307, { Location: "http://files.example.com/" })),
  "302 without a body's end": (socket) => socket.write(http(302, { Location: "/200", "Content-Length": 99 })),
  "404": (socket) => socket.write(body(404)),
  "404 without a body's end": (socket) => socket.write(http(404, { "Content-Length": 99 }, "hello")),
  "410": (socket) => socket.write(body(410)),
  "429": (socket) => socket.write(body(429, { "Retry-After": "1" })),
  "500": (socket) => socket.write(body(500)),
  "503 without a body's end": (socket) => socket.write(http(503, { "Content-Length": 99 }, "hello")),
  "too large, as declared": (socket) => socket.write(http(200, { "Content-Length": MAX_BYTES + MAX_READ_BYTES })),
  "too large": (socket) => {
    socket.write(http(200, {}));
    flood(socket, "x".repeat(65_536));
  },
  empty: (socket) => socket.write(http(200, { "Content-Length": 0 })),
  encoded: (socket) => socket.write(body(200, { "Content-Encoding": "gzip" })),
  "not HTTP": (socket) => socket.write("hello\r\n\r\n"),
  "a status that HTTP does not have": (socket) => socket.write("HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n"),
  "interim responses without end": (socket) => flood(socket, http(103, { Link: "</a>" }).repeat(100)),
  "no response": () => {},
  "no end of the header": (socket) => socket.write("HTTP/1.1 200 OK\r\nX: "),
  "no end of the body": (socket) => socket.write(http(200, { "Content-Length": 99 }, "hello")),
  "no end without a length": (socket) => socket.write(http(200, {}, "hello")),
};

const respond = (path: string, socket: TLSSocket): void => RESPONSES[decodeURIComponent(path.slice(1))]?.(socket);
const servers: { close: () => unknown }[] = [];
afterAll(async () => {
  for (const server of servers) await server.close();
});
const newServer = async () => {
  const server = await startServer(respond);
  servers.push(server);
  return server;
};
/** A host that accepts connections and never begins TLS. */
const startSilent = async () => {
  const server = createServer((socket) => socket.on("error", () => {}));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as { port: number }).port;
};

type Way = {
  path?: string;
  network?: Partial<Network>;
  isSilent?: true;
  file?: string | undefined;
  /** `early`: before the request. Otherwise after the server has received it. */
  cancel?: "early" | "late";
};
const CASES: Record<string, Way> = {
  ...Object.fromEntries(Object.keys(RESPONSES).map((path) => [path, { path }])),
  "a certificate of no known authority": { path: "200", network: { ca: "" } },
  "no TLS": { isSilent: true },
  // The kernel returns this address in another form, as if the runtime had connected to an unchecked address.
  "an address that was not checked": { path: "200", network: { resolve: async () => ["::ffff:7f00:1"] } },
  "an address that is not allowed": { path: "200", network: { isAllowed: () => false } },
  "canceled before": { path: "200", cancel: "early" },
  "canceled before a response": { path: "no response", cancel: "late" },
  "canceled in the body": { path: "no end of the body", cancel: "late" },
  "canceled without a length": { path: "no end without a length", cancel: "late" },
};
/** The cases that end only by the time limit. */
const isEndless = ([, { path, cancel }]: [string, Way]): boolean => path?.startsWith("no ") === true && !cancel;

/** Sends the request of a case. `signal` cancels it. */
const open = async (entry: [string, Way]) => {
  const { path = "", network: changes, isSilent, cancel } = entry[1];
  const { network, port, requests } = await newServer();
  const ownPort = isSilent ? await startSilent() : port;
  const url = `https://files.example.com:${ownPort}/${encodeURIComponent(path)}`;
  const times = { connectMs: isSilent ? 100 : 60_000, totalMs: isEndless(entry) ? 300 : 60_000 };
  const controller = new AbortController();
  const cancelLate = async (): Promise<void> => {
    await until(() => requests.length > 0, { pollMs: 5 });
    await Bun.sleep(20);
    controller.abort();
  };
  if (cancel === "early") controller.abort();
  else if (cancel === "late") void cancelLate();
  return {
    ...{ url, port: ownPort, times, signal: controller.signal },
    network: { ...network, ports: [ownPort], ...changes },
  };
};
/**
 * Runs all cases at once. Those that end only by the time limit are awaited last, because they have their connections
 * by then. Returns the ports.
 */
const runCases = async (
  ways: Record<string, Way>,
  go: (name: string, way: Awaited<ReturnType<typeof open>> & Pick<Way, "file">) => Promise<void>,
): Promise<Record<string, number>> => {
  const { true: endless = [], false: others = [] } = Object.groupBy(Object.entries(ways), (way) => `${isEndless(way)}`);
  const ports: Record<string, number> = {};
  for (const some of [others, endless]) {
    await Promise.all(
      some.map(async (way) => {
        const opened = await open(way);
        ports[way[0]] = opened.port;
        await go(way[0], { ...opened, file: way[1].file });
      }),
    );
  }
  return ports;
};
const { signal: never } = new AbortController();
const noneOf = (ways: object): Counts => Object.fromEntries(Object.keys(ways).map((way) => [way, 0]));

test.skipIf(!canCount)("an import, after every kind of end: no socket is open", async () => {
  const outcomes = new Set<string>();
  const ways = { ...CASES, "a disk that takes no file": { path: "200", file: "no such folder/file" } };
  const ports = await runCases(ways, async (name, { url, signal, times, network, file = name.replaceAll("/", "") }) => {
    const options = { ...times, network, signal, path: join(folder, file), maxBytes: MAX_BYTES };
    const outcome = await fetchRemote(url, options).catch(() => ({ kind: "failed" as const }));
    outcomes.add("code" in outcome ? outcome.code : outcome.kind);
  });
  expect(await settledSockets(ports, noneOf(ways))).toEqual(noneOf(ways));
  // Each case has its expected outcome.
  expect([...outcomes].sort()).toEqual([
    ...["canceled", "certificate_not_valid", "connection_lost", "empty", "encoding_not_allowed", "failed", "fetched"],
    ...[
      "host_not_public",
      "https_required",
      "invalid_response",
      "timed_out",
      "too_large",
      "too_many_redirects",
      "unexpected_status",
    ],
  ]);
});

/** Complete responses, whose connection is kept for the next message to the receiver. */
const KEPT = ["200", "chunked", "100 and 200", "204", "301 to another path", "302 to itself"].concat([
  "307 to a URL that is refused",
  "404",
  "410",
  "429",
  "500",
  "empty",
  "encoded",
]);

test.skipIf(!canCount)(
  "a delivery, after every kind of end: a socket is open only after a complete response, and none after the poster is closed",
  async () => {
    const posters: { close(): void; size(): number }[] = [];
    const ports = await runCases(CASES, async (_, { url, signal, times, network }) => {
      const connections = createConnections();
      const poster = createPoster({ ...times, network, bodyMs: 100 }, connections);
      posters.push({ close: poster.close, size: connections.size });
      // Sends two messages, because the second one may find connections of the first.
      for (let count = 0; count < 2; count++) {
        await poster.post({ receiver: "whe_1", url, headers: {}, body: "" }, signal);
      }
    });
    const kept = { ...noneOf(CASES), ...Object.fromEntries(KEPT.map((name) => [name, 1])) };
    expect(await settledSockets(ports, kept)).toEqual(kept);
    for (const { close } of posters) close();
    expect(await settledSockets(ports, noneOf(CASES))).toEqual(noneOf(CASES));
    expect(posters.filter(({ size }) => size() > 0)).toEqual([]);
  },
);

type Ask = (network: Network, receiver?: string) => Promise<unknown>;
/** The events that close a kept connection. Its addresses are old, so they are looked up again. */
const CLOSES: Record<string, (ask: Ask, network: Network, size: () => number) => Promise<unknown>> = {
  "another address": (ask, network) => ask({ ...network, resolve: async () => ["127.0.0.2"] }),
  "a name that is refused": (ask, network) => ask({ ...network, isAllowed: () => false }),
  "many later receivers": async (ask, network) => {
    for (let count = 0; count < 256; count++) await ask(network, `whe_${count}`);
  },
  "a pause": async (_ask, _network, size) => {
    await until(() => size() === 0, { pollMs: 1 });
  },
};

test.skipIf(!canCount).each(Object.keys(CLOSES))("a kept connection, then %s: closed", async (name) => {
  const { port, network } = await newServer();
  const url = `https://files.example.com:${port}/200`;
  let now = 0;
  const connections = createConnections(() => now, name === "a pause" ? 1 : 60_000);
  const poster = createPoster({ network }, connections);
  await poster.post({ receiver: "whe_x", url, headers: {}, body: "" }, never);
  expect(openSockets().get(port)).toBe(1);
  now = 31_000;
  const target = { kind: "target", url: new URL(url), host: "files.example.com", port } as const;
  const ask: Ask = (asked, receiver = "whe_x") => connections.to(receiver, target, asked, 60_000, never);
  await CLOSES[name]?.(ask, network, connections.size);
  expect(await settledSockets({ [name]: port }, { [name]: 0 })).toEqual({ [name]: 0 });
  poster.close();
});
