/**
 * What is not seen through an HTTP client: requests byte by byte, over a socket. Paths and hosts that clients would put
 * right, bytes that follow a request, and bodies without end.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { connect as connectPool } from "@realtime-avatar/db/connection/pool";
import { createLog } from "@realtime-avatar/runtime/log";
import { createTestApp, rowCounts, startApi, type TestApi, UUID_V7 } from "../support/api.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

let api: TestApi;
let key: string;
let port: number;

beforeAll(async () => {
  api = await startApi();
  key = await api.key();
  port = Number(new URL(api.url).port);
});
afterAll(() => api.close());

const MIB = 1024 * 1024;

type Wire = {
  socket: Socket;
  /** What has been received so far. */
  text(): string;
  /** Waits until `pattern` has been received, or the connection is closed. */
  until(pattern: RegExp): Promise<string>;
  /** Waits until the connection is closed; everything that has been received. */
  whole(): Promise<string>;
  closed: Promise<void>;
};

const dial = (): Wire => {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  const changes = new Set<() => void>();
  const changed = (): void => {
    for (const change of changes) change();
  };
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
    changed();
  });
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  const until = (pattern: RegExp): Promise<string> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!pattern.test(received)) return;
        changes.delete(look);
        resolve(received);
      };
      changes.add(look);
      closed.then(() => resolve(received));
      look();
    });
  return { socket, text: () => received, until, whole: () => closed.then(() => received), closed };
};

/** Everything that comes back for these bytes, until the connection is closed: one of the requests has to ask for it. */
const exchange = async (bytes: string): Promise<string> => {
  const { socket, whole } = dial();
  socket.write(bytes, "latin1");
  return whole();
};

type Raw = { version?: string; host?: string | null; headers?: string; body?: string };
/** A request as bytes. `host` is the value of its `Host` field; null leaves the field out. */
const request = (method: string, target: string, { version = "1.1", host = "api", headers = "", body }: Raw = {}) =>
  `${method} ${target} HTTP/${version}\r\n` +
  (host === null ? "" : `Host: ${host}\r\n`) +
  headers +
  (body === undefined ? "" : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`) +
  `\r\n${body ?? ""}`;
const CLOSE = "Connection: close\r\n";
const bearer = (): string => `Authorization: Bearer ${key}\r\n`;

const statusesOf = (text: string): number[] => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code));
/** The only response, as a problem. */
const problemIn = (text: string) => {
  const [head = "", body = ""] = text.split("\r\n\r\n");
  expect(head).toMatch(/content-type: application\/problem\+json/i);
  const problem = JSON.parse(body);
  expect(head.toLowerCase()).toContain(`x-request-id: ${problem.requestId}`);
  expect(problem.requestId).toMatch(UUID_V7);
  return { status: statusesOf(head)[0], code: problem.code };
};
const NOT_FOUND = { status: 404, code: "not_found" };
const MALFORMED = { status: 400, code: "malformed_request" };

describe("a path that is not in its normal form is 404", () => {
  const send = async (method: string, target: string): Promise<unknown> =>
    problemIn(await exchange(request(method, target, { headers: CLOSE + bearer() })));

  test.each([
    "/api/v1/%2e%2e/%2e%2e/readyz",
    "/api/v1/../../readyz",
    "/api/v1/..\\..\\readyz",
    "/api\\v1\\api-keys\\self",
    "\\api/v1/api-keys/self".replace("\\", "/\\"),
    "/./api/v1/api-keys/self",
    "/api/v1/api-keys/self/.",
    "/api/v1/api-keys/x/../self",
    "/api/v1/api-keys/%2e/self",
    "/api/v1/api-keys/.%2E/api-keys/self",
    "/api/v1/api-keys/sel%66",
    "/%61pi/v1/api-keys/self",
    "/api/v1/api-keys%2fself",
    "/api/v1/api-keys%3fx",
    "/api/v1/api-keys%5cself",
    "//api/v1/api-keys/self",
    "/api//v1/api-keys/self",
    "/api/v1/api-keys/self/",
    "/api/v1/api-keys/self#x",
    "/api/v1/api-keys/self%00",
    "/api/v1/api-keys/sel\u00e6",
    "/api/v1/api-keys/%zz",
    "/aaaaaaaaaa/api/v1/api-keys/self",
    "http://elsewhere/api/v1/../v1/api-keys/self",
    `/${"a/".repeat(40)}a`,
    "/readyz/../readyz",
    "/problems/%2e%2e/readyz",
  ])("%s", async (target) => {
    expect(await send("GET", target)).toEqual(NOT_FOUND);
    expect(await send("GET", `${target}?limit=1`)).toEqual(NOT_FOUND);
  });

  test("on every route, with every method", async () => {
    for (const { method, path } of api.app.routes) {
      const target = path.replace(/:\w+/, "not_found");
      const last = target.lastIndexOf("/") + 1;
      const escaped = `${target.slice(0, last)}%${target.charCodeAt(last).toString(16)}${target.slice(last + 1)}`;
      for (const other of [
        escaped,
        `/.${target}`,
        `/x/..${target}`,
        `/%2E${target}`,
        `/${target}`,
        `${target}/`,
        // A target must begin with a slash: Bun refuses any other itself.
        ...(last > 1 ? [`${target.slice(0, last - 1)}\\${target.slice(last)}`] : []),
      ]) {
        expect([method, other, await send(method, other)]).toEqual([method, other, NOT_FOUND]);
      }
    }
  });

  test("so an id has one spelling, and an Idempotency-Key applies to it once", async () => {
    const { id } = (await api.call("POST", "/api/v1/api-keys", { key, body: { name: "x" } })).body;
    const headers = `${CLOSE + bearer()}Idempotency-Key: one-spelling\r\n`;
    const rotate = (spelling: string) =>
      exchange(request("POST", `/api/v1/api-keys/${spelling}/rotate`, { headers, body: "{}" }));
    expect(statusesOf(await rotate(id))).toEqual([200]);
    const before = await rowCounts(api.database);
    for (const spelling of [id.replace("_", "%5F"), id.replace("_", "%5f"), id.replace("k", "%6b")]) {
      expect(problemIn(await rotate(spelling))).toEqual(NOT_FOUND);
    }
    expect(await rowCounts(api.database)).toEqual(before);
  });

  test("and one that is in its normal form is found, in the absolute form as well", async () => {
    for (const target of [
      "/api/v1/api-keys/self",
      "/api/v1/api-keys/self?",
      "http://elsewhere/api/v1/api-keys/self",
      "HTTP://elsewhere:81/api/v1/api-keys/self",
    ]) {
      const text = await exchange(request("GET", target, { headers: CLOSE + bearer() }));
      expect([target, statusesOf(text)]).toEqual([target, [200]]);
    }
  });
});

describe("Host", () => {
  const self = (host: string | null, version = "1.1", target = "/api/v1/api-keys/self") =>
    exchange(request("GET", target, { host, version, headers: CLOSE + bearer() }));

  test.each([
    "",
    " ",
    "a b",
    "a/b",
    "a\\b",
    "a?b",
    "a#b",
    "user@a",
    "http://a",
    "a\tb",
    "<a>",
    "a%zz",
    "\u00e9",
    ":80",
    "a:b",
    "a:80:80",
    "a:65536",
    "a:123456",
    "[::1",
    "::1",
    "[::1]x",
    "[1.2.3.4]",
    "[:::]",
    "[v1.x]",
    "a\r\nHost: b",
    "a\r\nHost: a",
  ])("%j is 400", async (host) => {
    for (const version of ["1.0", "1.1"]) {
      expect(problemIn(await self(host, version))).toEqual(MALFORMED);
      // Where Bun gives only the path, Elysia would read it from the eleventh character on.
      expect(problemIn(await self(host, version, "/aaaaaaaaaa/api/v1/api-keys/self"))).toEqual(MALFORMED);
    }
  });

  test.each([
    "a",
    "api",
    "localhost:3000",
    "A.Example.",
    "a_b",
    "xn--bcher-kva.example",
    "127.0.0.1:1",
    "256.1.1.1",
    "1.2.3.4.5",
    "a..b",
    "[::1]",
    "[::1]:3000",
    "[::ffff:1.2.3.4]",
    "a:",
    "a:0",
    "a:65535",
    "a%41",
    "a%2Fb",
    "a,b",
    "(a)!$&'*+;=~",
    "a".repeat(300),
  ])("%s is served", async (host) => {
    expect(statusesOf(await self(host))).toEqual([200]);
    expect(problemIn(await self(host, "1.1", "/aaaaaaaaaa/api/v1/api-keys/self"))).toEqual(NOT_FOUND);
    expect(problemIn(await self(host, "1.1", "/api/v1/api-keys/x/../self"))).toEqual(NOT_FOUND);
  });

  test("may be left out in HTTP/1.0, and the path is what was sent", async () => {
    expect(statusesOf(await self(null, "1.0"))).toEqual([200]);
    expect(statusesOf(await self(null, "1.0", "/api/v1/api-keys/self?"))).toEqual([200]);
    expect(statusesOf(await self(null, "1.0", "/readyz"))).toEqual([200]);
    for (const target of ["/aaaaaaaaaa/api/v1/api-keys/self", "/api/v1/../../readyz", "/api/v1/api-keys/x/../self"]) {
      expect(problemIn(await self(null, "1.0", target))).toEqual(NOT_FOUND);
    }
    const body = '{"displayName":"Ada","sourceKind":"image"}';
    const made = request("POST", "/api/v1/avatars", { version: "1.0", host: null, headers: bearer(), body });
    expect(statusesOf(await exchange(made))).toEqual([201]);
  });

  test("may not be left out in HTTP/1.1: Bun answers that itself", async () => {
    const text = await self(null);
    expect(statusesOf(text)).toEqual([400]);
    expect(text.toLowerCase()).not.toContain("x-request-id");
  });
});

describe("what gets 400, or no response, has not been written", () => {
  const body = '{"displayName":"Ada","sourceKind":"image"}';
  const create = () => request("POST", "/api/v1/avatars", { headers: bearer(), body });
  const chunked = (after: string) =>
    `${request("POST", "/api/v1/avatars", {
      headers: `${bearer()}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n`,
    })}${body.length.toString(16)}\r\n${body}\r\n0\r\n${after}\r\n`;
  const ROUNDS = 40;
  const quiet = async (): Promise<unknown> => {
    // What was refused is not written later either: its statement would be under way by now.
    const { db } = api.database;
    const { connections, waiting } = db.stats();
    if (connections.busy > 0 || waiting.statements > 0 || waiting.gathered > 0) {
      await Bun.sleep(1);
      return quiet();
    }
    return rowCounts(api.database);
  };

  test.each<[string, () => string]>([
    ["an empty line after the body", () => `${create()}\r\n`],
    ["two empty lines after the body", () => `${create()}\r\n\r\n`],
    ["a line feed after the body", () => `${create()}\n`],
    ["an empty line, and another request", () => `${create()}\r\n${create()}`],
    ["a second request at once", () => create() + create()],
    ["ten requests at once", () => create().repeat(10)],
    ["another request that is refused", () => `${create()}GET /nothing HTTP/9.9\r\n\r\n`],
    ["a trailer", () => chunked("X-Checksum: 1\r\n")],
    ["an empty line after the chunks", () => `${chunked("")}\r\n`],
  ])("%s", async (_, bytes) => {
    const before = (await quiet()) as { avatars: string }[];
    const texts = await Promise.all(Array.from({ length: ROUNDS }, () => exchange(bytes())));
    const created = texts.flatMap(statusesOf).filter((status) => status === 201).length;
    const after = (await quiet()) as { avatars: string }[];
    expect(Number(after[0]?.avatars) - Number(before[0]?.avatars)).toBe(created);
    // Bun serves none of them today. One that it learns to serve may be written.
    expect(created).toBe(0);
  });

  test("a report of a leaked key neither: the key stays", async () => {
    const leaked = await api.key();
    const report = JSON.stringify({ apiKey: leaked });
    const text = await exchange(`${request("POST", "/api/v1/leaked-keys", { body: report })}\r\n`);
    expect(statusesOf(text)).toEqual([400]);
    await quiet();
    expect((await api.call("GET", "/api/v1/api-keys/self", { key: leaked })).status).toBe(200);
  });

  test("nor what a client asks for that hangs up before the statement is sent", async () => {
    const before = await quiet();
    const { client } = api.database.db;
    const holder = await client.reserve();
    await holder`begin`;
    // The look-up waits, and the client goes meanwhile.
    await holder`lock table api_key_credentials`;
    const { socket, closed } = dial();
    socket.write(create());
    while (api.database.db.stats().connections.busy === 0) await Bun.sleep(1);
    socket.destroy();
    await closed;
    await Bun.sleep(50);
    await holder`commit`;
    holder.release();
    expect(await quiet()).toEqual(before);
  });

  test("chunks without a trailer are served, and the connection goes on", async () => {
    const { socket, until, whole } = dial();
    socket.write(chunked(""));
    await until(/HTTP\/1\.1 201[\s\S]*\r\n\r\n\{.*\}$/);
    socket.write(request("GET", "/healthz", { headers: CLOSE }));
    expect(statusesOf(await whole())).toEqual([201, 200]);
  });
});

describe("a body that is not read", () => {
  /** Sends a head and then a body without end; answers with what was received, and how many bytes could be sent. */
  const flood = async (head: string, isChunked: boolean): Promise<{ text: string; sent: number }> => {
    const block = "x".repeat(65_536);
    const bytes = Buffer.from(isChunked ? `10000\r\n${block}\r\n` : block);
    const { socket, text, closed } = dial();
    let sent = 0;
    let isOpen = true;
    closed.then(() => {
      isOpen = false;
    });
    const pump = (): void => {
      if (!isOpen || sent > 2048 * MIB) {
        socket.destroy();
        return;
      }
      sent += bytes.length;
      if (socket.write(bytes)) setImmediate(pump);
      else socket.once("drain", pump);
    };
    socket.write(head);
    pump();
    await closed;
    return { text: text(), sent };
  };
  const CHUNKED = "Transfer-Encoding: chunked\r\n";
  const LENGTH = "Content-Length: 99999999999\r\n";

  test.each<[string, string, () => string]>([
    ["a stranger's", "POST /api/v1/avatars", () => ""],
    ["that of an unknown key", "POST /api/v1/avatars", () => "Authorization: Bearer x\r\n"],
    ["that of a route that is not there", "POST /nothing", () => ""],
    ["that of a method that is not there", "PUT /api/v1/avatars", () => ""],
    ["that of a GET", "GET /healthz", () => ""],
    ["that of a caller, with another media type", "POST /api/v1/avatars", () => bearer()],
    ["that of a caller, too large", "POST /api/v1/avatars", () => `${bearer()}Content-Type: application/json\r\n`],
    ["a reporter's", "POST /api/v1/leaked-keys", () => "Content-Type: application/json\r\n"],
  ])("%s: the connection is closed, and memory does not grow", async (_, line, headers) => {
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    for (const framing of [CHUNKED, LENGTH]) {
      const head = `${line} HTTP/1.1\r\nHost: api\r\n${headers()}${framing}\r\n`;
      const { sent } = await flood(head, framing === CHUNKED);
      // What the two systems hold for a socket aside, nothing was taken after the response.
      expect(sent).toBeLessThan(64 * MIB);
    }
    expect(process.memoryUsage.rss() - before).toBeLessThan(128 * MIB);
  });

  test("the response comes first", async () => {
    for (const framing of [CHUNKED, LENGTH]) {
      const { socket, whole } = dial();
      socket.write(`POST /api/v1/avatars HTTP/1.1\r\nHost: api\r\n${framing}\r\n`);
      const text = await whole();
      expect(problemIn(text)).toEqual({ status: 401, code: "missing_api_key" });
      expect(text.toLowerCase()).toContain("connection: close");
    }
  });

  test("a connection goes on after a small one, and after one in chunks that was read", async () => {
    const { socket, until, whole } = dial();
    socket.write(`POST /api/v1/avatars HTTP/1.1\r\nHost: api\r\nContent-Length: ${MIB}\r\n\r\n${"x".repeat(MIB)}`);
    await until(/HTTP\/1\.1 401[\s\S]*\}$/);
    const headers = `${bearer()}Content-Type: application/json\r\n${CHUNKED}`;
    socket.write(`${request("POST", "/api/v1/avatars", { headers })}2\r\n{}\r\n0\r\n\r\n`);
    await until(/HTTP\/1\.1 422[\s\S]*\}$/);
    socket.write(request("GET", "/healthz", { headers: CLOSE }));
    expect(statusesOf(await whole())).toEqual([401, 422, 200]);
  });
});

describe("a method", () => {
  test("that Bun does not know closes the connection without a response", async () => {
    for (const method of ["FOO", "get", "GETT"]) expect(await exchange(request(method, "/healthz"))).toBe("");
  });

  test("that asks for a tunnel gets none", async () => {
    const connects = ["example.com:443", "/nothing"].map((target) =>
      exchange(request("CONNECT", target, { headers: CLOSE })),
    );
    for (const text of await Promise.all(connects)) expect(problemIn(text)).toEqual(NOT_FOUND);
    const known = await exchange(request("CONNECT", "/api/v1/avatars", { headers: CLOSE }));
    expect(problemIn(known)).toEqual({ status: 405, code: "method_not_allowed" });
  });
});

describe("credentials", () => {
  test("that are long are refused like others", async () => {
    const space = " ".repeat(6000);
    for (const value of [`Bearer ${"a".repeat(12_000)}!`, `Bearer${space}a${space}a`, `Bearer ${"=".repeat(12_000)}`]) {
      const text = await exchange(
        request("GET", "/api/v1/api-keys/self", { headers: `${CLOSE}Authorization: ${value}\r\n` }),
      );
      expect(problemIn(text)).toEqual({ status: 401, code: "invalid_api_key" });
    }
  });

  test("may have more than one space before them, and the scheme in any letter case", async () => {
    for (const value of [`Bearer   ${key}`, `bEARER ${key}`, `BEARER ${key}  `]) {
      const headers = `${CLOSE}Authorization: ${value}\r\n`;
      expect(statusesOf(await exchange(request("GET", "/api/v1/api-keys/self", { headers })))).toEqual([200]);
    }
    for (const value of [`Bearer\t${key}`, `Bearer ${key} x`, `Bearer ${key},`]) {
      const headers = `${CLOSE}Authorization: ${value}\r\n`;
      expect(problemIn(await exchange(request("GET", "/api/v1/api-keys/self", { headers }))).status).toBe(401);
    }
  });
});

test("a secret as Idempotency-Key is refused, and neither stored nor echoed", async () => {
  const before = await rowCounts(api.database);
  const claims = () => api.database.db.client`select count(*) as number from idempotency_keys`;
  const claimed = await claims();
  const other = await api.key();
  for (const idempotencyKey of [key, other, `order-1-${key}`, `${key}x`, key.slice(0, 40), key.slice(4)]) {
    for (const [path, body] of [
      ["/api/v1/avatars", { displayName: "Ada", sourceKind: "image" }],
      ["/api/v1/api-keys", { name: "x" }],
    ] as const) {
      const response = await api.call("POST", path, { key, body, headers: { "idempotency-key": idempotencyKey } });
      expect([response.status, response.body.code]).toEqual([400, "malformed_request"]);
      expect(response.text).not.toContain(idempotencyKey.slice(0, 20));
    }
  }
  // Seeding the other key wrote one key, with its credential and its event.
  const [counts] = await rowCounts(api.database);
  expect(Number(counts?.["keys"])).toBe(Number(before[0]?.["keys"]) + 1);
  expect(counts?.["avatars"]).toBe(before[0]?.["avatars"] as string);
  expect(await claims()).toEqual(claimed);
});

test("a request that is shed for load is one warning in the log, without a stack", async () => {
  const log: string[] = [];
  const db = connectPool(api.database.url, { connections: 1, waiting: 0 });
  const logger = createLog("trace", { write: (line) => void log.push(line) });
  const app = createTestApp(db, { log: logger });
  const ask = () =>
    app.handle(new Request("http://api/api/v1/api-keys/self", { headers: { authorization: `Bearer ${key}` } }));
  const responses = await Promise.all([ask(), ask(), ask()]);
  const shed = responses.filter(({ status }) => status === 503);
  expect(shed.length).toBeGreaterThan(0);
  // The line is written after the response.
  while (log.length < responses.length) await Bun.sleep(1);
  const lines = log.map((line) => JSON.parse(line)).filter(({ status }) => status === 503);
  expect(lines).toHaveLength(shed.length);
  for (const line of lines) {
    expect(line).toMatchObject({ level: 40, msg: "request", problem: "unavailable", reason: "QUEUE_FULL" });
    expect(JSON.stringify(line)).not.toContain("stack");
  }
  await db.close();
});

test("HEAD answers as GET does, on every route", async () => {
  const own = (await api.call("GET", "/api/v1/api-keys/self", { key })).body.id;
  const body = { displayName: "Ada", sourceKind: "image" };
  const avatar = (await api.call("POST", "/api/v1/avatars", { key, body })).body.id;
  const targets = api.app.routes
    .filter(({ method }) => method === "GET")
    .map(({ path }) => path.replace(":code", "not_found").replace(":id", path.includes("avatars") ? avatar : own));
  expect(targets.length).toBeGreaterThan(10);
  for (const target of targets) {
    const [get, head] = await Promise.all(
      ["GET", "HEAD"].map((method) => exchange(request(method, target, { headers: CLOSE + bearer() }))),
    );
    /** Status and headers, without those that differ between any two requests. */
    const headOf = (text = "") =>
      text
        .split("\r\n\r\n")[0]
        ?.toLowerCase()
        .split("\r\n")
        .filter((line) => !/^(date|x-request-id):/.test(line))
        .sort();
    expect([target, headOf(head)]).toEqual([target, headOf(get)]);
    expect([target, statusesOf(head ?? ""), head?.split("\r\n\r\n")[1]]).toEqual([target, [200], ""]);
  }
});
