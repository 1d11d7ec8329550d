import { describe, expect, test } from "bun:test";
import { connect as connectSocket } from "node:net";
import { connect } from "@realtime-avatar/db/connection/pool";
import { generateApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { createLog } from "@realtime-avatar/runtime/log";
import { serve } from "@realtime-avatar/runtime/serve";
import { session } from "@realtime-avatar/testing/database";
import { cutBlocked, watchLookUps } from "@realtime-avatar/testing/postgres/waits";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedKey } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { type Answer, callAnew, readAnswer, startApi, TEST_CONFIG } from "../../test/support/api.ts";
import { failureHandler } from "../app.ts";

const api = await startApi();

const send = (authorization: string): Promise<Answer> =>
  api.call("POST", "/api/v1/avatars", { headers: { authorization }, body: { displayName: "x", sourceKind: "image" } });
const outcome = ({ status, body }: Answer) => [status, body.code];

test("two Authorization headers, in one request: 401", async () => {
  const key = await api.key();
  const headers = new Headers([
    ["authorization", `Bearer ${key}`],
    ["authorization", `Bearer ${key}`],
    ["content-type", "application/json"],
  ]);
  const response = await fetch(`${api.url}/api/v1/avatars`, { method: "POST", headers, body: "{}" });
  expect(response.status).toBe(401);
});

describe("the state of a key, shown only to the holder of its true secret", () => {
  const keyWithOtherSecret = (keyId: string): string => {
    // The right handle and a right checksum with another secret.
    const forged = generateApiKey("live", (count) => {
      const bytes = random(count);
      return count === 16
        ? Uint8Array.from(keyId, (character) =>
            "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".indexOf(character),
          )
        : bytes;
    });
    expect(forged.keyId).toBe(keyId);
    return forged.reveal();
  };

  test.each([
    ["revoked_api_key", "update api_keys set revoked_at = now() where id = $1"],
    ["expired_api_key", "update api_keys set expires_at = date_trunc('milliseconds', now()) where id = $1"],
    [
      "revoked_api_key",
      "update api_keys set revoked_at = now(), expires_at = date_trunc('milliseconds', now()) where id = $1",
    ],
    [
      "revoked_api_key",
      "update api_key_credentials set retired_at = date_trunc('milliseconds', now()) where api_key_id = $1",
    ],
  ])("%s, sent with the true secret: that code; a false secret: invalid_api_key; after %s", async (code, change) => {
    const { record, secret } = await seedKey(api.database.db, api.tenantId, { environment: "live", scopes: ["*"] });
    expect((await send(`Bearer ${secret.reveal()}`)).status).toBe(201);
    await api.database.db.client.unsafe(change, [record.id]);
    expect(outcome(await send(`Bearer ${secret.reveal()}`))).toEqual([401, code]);
    expect(outcome(await send(`Bearer ${keyWithOtherSecret(secret.keyId)}`))).toEqual([401, "invalid_api_key"]);
  });

  test("a key, revoked and restored in the database: the next request is affected", async () => {
    const { record, secret } = await seedKey(api.database.db, api.tenantId, { scopes: ["*"] });
    for (const [revokedAt, status] of [
      [null, 201],
      [new Date(), 401],
      [null, 201],
    ] as const) {
      await api.database.db.client`update api_keys set revoked_at = ${revokedAt} where id = ${record.id}`;
      expect((await send(`Bearer ${secret.reveal()}`)).status).toBe(status);
    }
  });

  test("a stored digest, sent as a key: 401", async () => {
    const { record, secret } = await seedKey(api.database.db, api.tenantId, { scopes: ["*"] });
    const [row] = await api.database.db.client`
      select encode(digest, 'hex') as hex, encode(digest, 'base64') as base64 from api_key_credentials
      where key_id = ${secret.keyId}`;
    for (const stolen of [
      row?.["hex"],
      row?.["base64"],
      record.id,
      record.keyId,
      `rta_test_${record.keyId}_${row?.["hex"]}`,
    ]) {
      expect(outcome(await send(`Bearer ${stolen}`))).toEqual([401, "invalid_api_key"]);
    }
  });
});

describe("an unreachable database", () => {
  const ask = async (key: string): Promise<Answer> => {
    const db = connect("postgres://postgres@127.0.0.1:1/postgres");
    const response = await callAnew(db)("POST", "/api/v1/avatars", { key, body: {} });
    await db.close();
    return response;
  };

  test("a token with a wrong checksum, database unreachable: 401 without a look-up", async () => {
    const key = generateApiKey("live", random).reveal();
    const wrong = `${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`;
    for (const token of [wrong, "junk", key.slice(1), `${key}0`]) {
      expect(outcome(await ask(token))).toEqual([401, "invalid_api_key"]);
    }
  });

  test("a key of the right form, database unreachable: 503, retryable", async () => {
    const response = await ask(generateApiKey("live", random).reveal());
    expect(outcome(response)).toEqual([503, "unavailable"]);
    expect(response.body.retryable).toBe(true);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(response.text).not.toMatch(/127\.0\.0\.1|postgres|ECONNREFUSED/);
  });
});

test("a write whose connection is lost: 503, outcome unknown, and the next request works", async () => {
  const { db } = api.database;
  const { record, secret } = await seedKey(db, api.tenantId, { scopes: ["*"] });
  const holder = session(api.database.url);
  await holder.client`begin`;
  await holder.client`select 1 from api_keys where id = ${record.id} for update`;
  const pending = send(`Bearer ${secret.reveal()}`);
  await cutBlocked(db);
  const response = await pending;
  expect([...outcome(response), response.body.retryable]).toEqual([503, "outcome_unknown", false]);
  expect(response.headers.get("retry-after")).toBe("1");
  await holder.client`rollback`;
  await holder.close();
  // The process continues, and serves the next request.
  expect((await send(`Bearer ${secret.reveal()}`)).status).toBe(201);
});

test.each([
  ["with a declared length", "Content-Length: 100\r\n\r\n{"],
  ["in the middle of a chunk", "Transfer-Encoding: chunked\r\n\r\n64\r\n{"],
])("a client that disconnects %s: logged as 400, not as an error", async (_, rest) => {
  const { hostname, port } = new URL(api.url);
  const id = `hang-up-${crypto.randomUUID()}`;
  const head = `POST /api/v1/avatars HTTP/1.1\r\nHost: api\r\nX-Request-Id: ${id}\r\nContent-Type: application/json\r\n`;
  const key = await api.key();
  const untilLookedUp = await watchLookUps(api.database);
  const socket = connectSocket(Number(port), hostname);
  socket.write(`${head}Authorization: Bearer ${key}\r\n${rest}`);
  await untilLookedUp();
  socket.destroy();
  const find = () => api.log.find((entry) => entry.includes(id));
  await until(find, { pollMs: 1 });
  expect(JSON.parse(find() ?? "{}")).toMatchObject({ level: 30, status: 400, problem: "malformed_request" });
});

describe("a defect of the service", () => {
  test("a write, a constraint fails unexpectedly: 500 in fixed words, the cause in the log without the row", async () => {
    const { client } = api.database.db;
    await client.unsafe("alter table avatars add constraint tripwire check (display_name <> 'trip-the-wire')");
    const key = await api.key();
    const body = { displayName: "trip-the-wire", sourceKind: "image" };
    const response = await api.call("POST", "/api/v1/avatars", { key, body });
    expect(outcome(response)).toEqual([500, "internal_error"]);
    expect(response.text).not.toMatch(/trip|wire|avatars|constraint|sql|postgres/i);
    const find = () => api.log.find((entry) => entry.includes(response.body.requestId));
    await until(find, { pollMs: 1 });
    const line = find();
    expect(JSON.parse(line ?? "{}")).toMatchObject({
      level: 50,
      status: 500,
      error: { code: "23514", constraint: expect.stringMatching(/^tripwire(_[0-9]+)?$/) },
    });
    expect(line).not.toContain("trip-the-wire");
  });

  test("a response, not matching its schema: 500; the log does not quote it", async () => {
    const { db } = api.database;
    await db.client.unsafe("alter table avatars drop constraint avatars_model_id_check");
    const lines: string[] = [];
    const config = { ...TEST_CONFIG, defaultAvatarModelId: "x".repeat(161) };
    const log = createLog("info", { write: (line) => void lines.push(line) });
    const body = { displayName: "unquotable", sourceKind: "image" };
    const response = await callAnew(db, { config, log })("POST", "/api/v1/avatars", { key: await api.key(), body });
    expect(outcome(response)).toEqual([500, "internal_error"]);
    expect(response.text).not.toMatch(/unquotable|x{16}/);
    await until(() => lines.length > 0, { pollMs: 1 });
    expect(JSON.parse(lines.join("")).error.message).toBe("a response does not match its schema");
    expect(lines.join("")).not.toMatch(/unquotable|x{16}/);
  });

  test("the error handler, failing itself: 500 with a request id and a log line", async () => {
    const lines: string[] = [];
    const log = createLog("info", { write: (line) => void lines.push(line) });
    const address = { host: "127.0.0.1", port: 0, portVariable: "PORT" };
    const fail = failureHandler({ clock: () => new Date(), random, log });
    const server = serve(
      address,
      { keepAliveMs: 60_000, requestMs: 60_000 },
      () => {
        throw new Error("the handler of errors is broken");
      },
      fail,
    );
    const response = await readAnswer(await fetch(server.url));
    expect(outcome(response)).toEqual([500, "internal_error"]);
    expect(response.text).not.toContain("broken");
    expect(response.headers.get("x-request-id")).toBe(response.body.requestId);
    expect(JSON.parse(lines.join(""))).toMatchObject({
      level: 50,
      requestId: response.body.requestId,
      error: { message: "the handler of errors is broken" },
    });
    await server.stop(true);
  });
});
