/** Response bodies that wait for their clients: counted, bounded, and dropped when a client does not read. */
import { beforeAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { Problem } from "@realtime-avatar/domain/problem";
import { serve } from "@realtime-avatar/runtime/serve";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { createTestApp, readAnswer } from "../../../test/support/api.ts";
import { createResponseBytes, type ResponseBytesOptions } from "./response-bytes.ts";

const database = await fileDatabase();

const MIB = 1024 * 1024;
/** More than the operating system buffers for a client that reads nothing. */
const BEYOND_BUFFERS = 24 * MIB;

/** A server whose `/<tenant>/<length>` is a body with this number of characters, and its counts. */
const start = (options: ResponseBytesOptions, character = "x") => {
  const bytes = createResponseBytes(options);
  const server = serve(
    { host: "127.0.0.1", port: 0, portVariable: "PORT" },
    { keepAliveMs: 60_000, requestMs: 60_000 },
    async (request) => {
      const [, tenant = "", length = ""] = new URL(request.url).pathname.split("/");
      const set = { headers: { "x-other": "1" } };
      // As in the service, a response comes after a response of the database.
      await Bun.sleep(1);
      try {
        const body = bytes.send(["", character.repeat(Number(length))], tenant, request, set);
        return body instanceof Response ? body : new Response(body, set);
      } catch (error) {
        return new Response(error instanceof Problem ? error.code : "", { status: 503 });
      }
    },
  );
  return { bytes, server, url: server.url.href };
};

/** A client that requests `path` and reads nothing. Reports when the server has closed the connection. */
const stall = (port: number, path: string): { socket: Socket; closed: Promise<void> } => {
  const socket = connect(port, "127.0.0.1");
  socket.pause();
  const closed = new Promise<void>((resolve) => {
    socket.on("error", () => resolve()).on("close", () => resolve());
  });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return { socket, closed };
};

const until = async (isDone: () => boolean): Promise<void> => {
  for (let attempts = 0; attempts < 10_000 && !isDone(); attempts++) await Bun.sleep(2);
  expect(isDone()).toBe(true);
};

test.each([
  ["small", "x", 100],
  ["that Bun would send in many pieces", "x", 20_000],
  ["of one piece", "é", 30_000],
  ["of many pieces", "x", 5 * MIB],
  ["of many pieces, none of which ends between characters", "😀é ", 500_000],
])("a body %s: arrives whole with its headers", async (_, character, length) => {
  const { bytes, server, url } = start({}, character);
  const text = character.repeat(length);
  const response = await fetch(`${url}a/${length}`);
  expect([response.headers.get("content-type"), response.headers.get("x-other")]).toEqual(["application/json", "1"]);
  const byteLength = Buffer.byteLength(text);
  // A longer body is sent before its length is known.
  expect(response.headers.get("content-length")).toBe(byteLength <= 65_536 ? String(byteLength) : null);
  expect((await response.text()) === text).toBe(true);
  await until(() => bytes.waiting() === 0);
  const head = await fetch(`${url}a/${length}`, { method: "HEAD" });
  expect([head.status, head.headers.get("content-length")]).toEqual([200, String(byteLength)]);
  expect(bytes.waiting()).toBe(0);
  await server.stop(true);
});

describe("a client that does not read", () => {
  const options = { maxBytes: 4 * BEYOND_BUFFERS, maxBytesPerTenant: 2 * BEYOND_BUFFERS, stalledMs: 300 };

  test("a client that does not read: its connection closes; its bytes are released", async () => {
    const { bytes, server } = start(options);
    const clients = Array.from({ length: 2 }, () => stall(server.port ?? 0, `/a/${BEYOND_BUFFERS}`));
    await until(() => bytes.waiting() === 2 * BEYOND_BUFFERS);
    await until(() => bytes.waiting() === 0);
    await Promise.all(
      clients.map(async ({ socket, closed }) => {
        // Only a client that reads notices that the connection was closed.
        socket.resume();
        await closed;
      }),
    );
    await server.stop(true);
  });

  test("a client that disconnects: its bytes are released at once", async () => {
    const { bytes, server } = start({ ...options, stalledMs: 3_600_000 });
    const { socket } = stall(server.port ?? 0, `/a/${BEYOND_BUFFERS}`);
    await until(() => bytes.waiting() === BEYOND_BUFFERS);
    socket.destroy();
    await until(() => bytes.waiting() === 0);
    await server.stop(true);
  });

  test("a client that does not read: its tenant is refused until it is gone, and other tenants are served", async () => {
    const { bytes, server, url } = start({ ...options, stalledMs: 3_600_000 });
    const clients = Array.from({ length: 2 }, () => stall(server.port ?? 0, `/a/${BEYOND_BUFFERS}`));
    await until(() => bytes.waiting() === 2 * BEYOND_BUFFERS);
    const ask = async (tenant: string, length: number) => {
      const response = await fetch(`${url}${tenant}/${length}`);
      return [response.status, (await response.text()).length];
    };
    expect(await ask("a", MIB)).toEqual([503, "unavailable".length]);
    expect(await ask("a", 20_000)).toEqual([200, 20_000]);
    expect(await ask("b", MIB)).toEqual([200, MIB]);
    for (const { socket } of clients) socket.destroy();
    await until(() => bytes.waiting() === 0);
    expect(await ask("a", MIB)).toEqual([200, MIB]);
    await server.stop(true);
  });

  test("a client that does not read, at the process limit: large bodies are refused, small ones sent", async () => {
    const { bytes, server, url } = start({ maxBytes: BEYOND_BUFFERS, maxBytesPerTenant: BEYOND_BUFFERS });
    const { socket } = stall(server.port ?? 0, `/a/${BEYOND_BUFFERS}`);
    await until(() => bytes.waiting() === BEYOND_BUFFERS);
    expect((await fetch(`${url}b/${MIB}`)).status).toBe(503);
    expect((await fetch(`${url}b/20000`)).status).toBe(200);
    socket.destroy();
    await server.stop(true);
  });

  test("a response of characters of several bytes: its bytes count", () => {
    const bytes = createResponseBytes();
    bytes.send(["é".repeat(MIB), "x"], "a", new Request("http://x"), { headers: {} });
    expect(bytes.waiting()).toBe(2 * MIB + 1);
  });

  test("a response, never sent: its bytes are released", async () => {
    const bytes = createResponseBytes({ stalledMs: 20 });
    bytes.send(["x".repeat(MIB)], "a", new Request("http://x"), { headers: {} });
    expect(bytes.waiting()).toBe(MIB);
    await until(() => bytes.waiting() === 0);
  });
});

describe("the lists", () => {
  let key: string;
  beforeAll(async () => {
    const tenantId = await seedTenant(database.db);
    key = (await seedKey(database.db, tenantId, { environment: "live", scopes: ["*"] })).secret.reveal();
    await database.db.client.unsafe(`insert into avatars select '${tenantId}', 'ava_01h455vb4p' || lpad(i::text, 16, '0'), 'live', 'n',
      'image', 'm', 'ready', null, null, null, 0, json_build_object('a', repeat('x', 32000)), json_build_object('b', repeat('y', 32000)),
      1, now(), now() from generate_series(1, 20) i`);
  });

  test("a list of large items, too many bytes waiting: 503, retryable; of small ones: 200", async () => {
    const get = async (maxBytes: number, path: string) => {
      const app = createTestApp(database.db, { responseBytes: createResponseBytes({ maxBytes }) });
      return readAnswer(
        await app.handle(new Request(`http://x${path}`, { headers: { authorization: `Bearer ${key}` } })),
      );
    };
    const refused = await get(MIB, "/api/v1/avatars");
    expect([refused.status, refused.body.code, refused.body.retryable]).toEqual([503, "unavailable", true]);
    expect(refused.headers.get("retry-after")).toBe("1");
    const whole = await get(64 * MIB, "/api/v1/avatars");
    expect([whole.status, whole.body.data.length]).toEqual([200, 16]);
    expect(whole.headers.get("cache-control")).toBe("no-store");
    expect(whole.headers.get("x-request-id")).toBeString();
    const rest = await get(64 * MIB, `/api/v1/avatars?cursor=${whole.body.nextCursor}`);
    expect([rest.body.data.length, rest.body.nextCursor]).toEqual([4, null]);
    expect((await get(MIB, "/api/v1/api-keys")).status).toBe(200);
  });
});
