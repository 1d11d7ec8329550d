import { describe, expect, test } from "bun:test";
import { findCredential } from "@realtime-avatar/db/api-keys/callers";
import { ApiKeyWithSecret } from "@realtime-avatar/domain/api-keys/schemas";
import { parseApiKey, verifyApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { isId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { createTestApp, requestInit, rowCounts, startApi } from "../../test/support/api.ts";

const PATH = "/api/v1/api-keys";

const api = await startApi();
const root = await api.key();

const create = (key: string, body: unknown) => api.call("POST", PATH, { key, body });

describe("the creation of an API key", () => {
  test("a new key, all fields set: 201 with the key, its secret, location and version", async () => {
    const fields = {
      name: "ops 👩‍🚀",
      environment: "live",
      scopes: ["avatars:write", "avatars:read", "avatars:write"],
      spendLimitCreditMicros: 9007199254740991,
      expiresAt: "2099-12-31T23:59:60.9999+00:00",
    };
    const { status, headers, body } = await create(root, fields);
    const creator = await api.call("GET", `${PATH}/self`, { key: root });
    expect(status).toBe(201);
    expect(headers.get("content-type")).toStartWith("application/json");
    expect(headers.get("location")).toBe(`${PATH}/${body.id}`);
    expect(headers.get("etag")).toBe('"1"');
    expect(validate(ApiKeyWithSecret, body)).toEqual([]);
    expect(isId("key", body.id)).toBe(true);
    expect(body).toEqual({
      id: body.id,
      keyId: body.keyId,
      tenantId: api.tenantId,
      parentId: creator.body.id,
      name: "ops 👩‍🚀",
      environment: "live",
      redactedKey: `rta_live_${body.keyId}_****`,
      scopes: ["avatars:write", "avatars:read"],
      status: "active",
      spendLimitCreditMicros: 9007199254740991,
      effectiveSpendLimitCreditMicros: 9007199254740991,
      expiresAt: "2100-01-01T00:00:00.999Z",
      effectiveExpiresAt: "2100-01-01T00:00:00.999Z",
      spentCreditMicros: 0,
      reservedCreditMicros: 0,
      maxConcurrentSessions: null,
      effectiveMaxConcurrentSessions: null,
      lastUsedAt: null,
      createdAt: body.createdAt,
      apiKey: body.apiKey,
    });
    expect(Math.abs(Date.parse(body.createdAt) - Date.now())).toBeLessThan(60_000);

    const secret = parseApiKey(body.apiKey);
    const stored = await findCredential(api.database.db, body.keyId);
    if (!secret || !stored) throw new Error("no secret, or no credential");
    expect(secret.keyId).toBe(body.keyId);
    expect(verifyApiKey(secret, stored.digest)).toBe(true);
    expect(stored.caller).toMatchObject({
      id: body.id,
      scopes: ["avatars:write", "avatars:read"],
      spendLimitCreditMicros: 9007199254740991,
      expiresAt: new Date("2100-01-01T00:00:00.999Z"),
    });
  });

  test("a new key, only a name: a test key with default scopes, no cap, no expiry", async () => {
    const { status, body } = await create(root, { name: "x" });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      environment: "test",
      scopes: ["realtime:write", "credits:read", "avatars:read"],
      spendLimitCreditMicros: null,
      expiresAt: null,
    });
    expect(body.apiKey).toStartWith("rta_test_");
  });

  test("a new key, used to create another: works, and is its parent", async () => {
    const { body: parent } = await create(root, { name: "parent", scopes: ["*"] });
    const { status, body: child } = await create(parent.apiKey, { name: "child", scopes: ["avatars:write"] });
    expect(status).toBe(201);
    const stored = await findCredential(api.database.db, child.keyId);
    expect(stored?.caller.lineage.at(-1)).toBe(parent.id);
    const avatar = { displayName: "Ada", sourceKind: "image" };
    expect((await api.call("POST", "/api/v1/avatars", { key: child.apiKey, body: avatar })).status).toBe(201);
  });

  test("a new key, its audit event: names actor, target and request", async () => {
    const { body, headers } = await create(root, { name: "audited" });
    expect(await api.database.db.client`select * from audit_events where target_id = ${body.id}`).toMatchObject([
      {
        tenant_id: api.tenantId,
        environment: "test",
        actor_key_id: parseApiKey(root)?.keyId,
        action: "api_key.created",
        request_id: headers.get("x-request-id"),
        created_at: new Date(body.createdAt),
      },
    ]);
  });

  test("new keys, 50 at once: 50 different keys", async () => {
    const responses = await Promise.all(Array.from({ length: 50 }, (_, index) => create(root, { name: `n${index}` })));
    expect(responses.map(({ status }) => status)).toEqual(Array(50).fill(201));
    expect(new Set(responses.map(({ body }) => body.apiKey)).size).toBe(50);
    expect(new Set(responses.map(({ body }) => body.id)).size).toBe(50);
  });
});

describe("the grant of a new key", () => {
  const narrow = () =>
    api.key({
      environment: "test",
      scopes: ["api_keys:write", "avatars:read"],
      spendLimitCreditMicros: 1000,
      expiresAt: "2090-01-01T00:00:00Z",
    });

  test("a new key, without cap and expiry: gets those of its creator", async () => {
    const { status, body } = await create(await narrow(), { name: "x", scopes: ["avatars:read"] });
    expect(status).toBe(201);
    expect(body).toMatchObject({ spendLimitCreditMicros: 1000, expiresAt: "2090-01-01T00:00:00.000Z" });
  });

  test.each([
    [{ scopes: ["*"] }, "#/scopes", ["api_keys:write", "avatars:read"]],
    [{ scopes: ["avatars:read", "avatars:write"] }, "#/scopes", ["api_keys:write", "avatars:read"]],
    [{}, "#/scopes", ["api_keys:write", "avatars:read"]],
    [{ scopes: ["avatars:read"], environment: "live" }, "#/environment", ["test"]],
    [{ scopes: ["avatars:read"], spendLimitCreditMicros: 1001 }, "#/spendLimitCreditMicros", { maximum: 1000 }],
    [{ scopes: ["avatars:read"], spendLimitCreditMicros: null }, "#/spendLimitCreditMicros", { maximum: 1000 }],
    [{ scopes: ["avatars:read"], expiresAt: null }, "#/expiresAt", { latest: "2090-01-01T00:00:00.000Z" }],
    [
      { scopes: ["avatars:read"], expiresAt: "2090-01-01T00:00:00.001Z" },
      "#/expiresAt",
      { latest: "2090-01-01T00:00:00.000Z" },
    ],
    [
      { scopes: ["avatars:read"], expiresAt: "2089-12-31T23:59:59-00:01" },
      "#/expiresAt",
      { latest: "2090-01-01T00:00:00.000Z" },
    ],
  ])("a new key, asking for %j: 403, and nothing is written", async (request, pointer, allowed) => {
    const key = await narrow();
    const before = await rowCounts(api.database);
    const { status, body } = await create(key, { name: "x", ...request });
    expect([status, body.code]).toEqual([403, "grant_exceeds_caller"]);
    expect(body.errors).toMatchObject([{ pointer, allowed }]);
    expect(await rowCounts(api.database)).toEqual(before);
  });

  test("a new key, exactly at its creator's limits: 201", async () => {
    const request = { scopes: ["avatars:read"], spendLimitCreditMicros: 1000, expiresAt: "2090-01-01T01:00:00+01:00" };
    expect((await create(await narrow(), { name: "x", ...request })).status).toBe(201);
  });

  test("a new key, in the ninth generation: 403", async () => {
    let key = root;
    for (let generation = 1; generation <= 8; generation++) {
      const { status, body } = await create(key, { name: `generation ${generation}`, scopes: ["*"] });
      expect(status).toBe(201);
      key = body.apiKey;
    }
    const { status, body } = await create(key, { name: "one too many", scopes: ["*"] });
    expect([status, body.code]).toEqual([403, "grant_exceeds_caller"]);
    expect(body.errors).toMatchObject([{ pointer: "#", code: "lineage_too_deep" }]);
  });

  test("a new key, its expiry in the past: 422, before the grant is checked", async () => {
    for (const expiresAt of ["2000-01-01T00:00:00Z", new Date().toISOString()]) {
      const { status, body } = await create(await narrow(), { name: "x", scopes: ["*"], expiresAt });
      expect([status, body.code]).toEqual([422, "validation_failed"]);
      expect(body.errors).toMatchObject([{ pointer: "#/expiresAt", code: "not_in_future" }]);
    }
  });
});

describe("an expiry in the future", () => {
  test("an expiry, the service's clock wrong: the database's clock decides", async () => {
    const { db } = api.database;
    const day = 24 * 60 * 60 * 1000;
    const expiring = async (clockOff: number, expiresIn: number): Promise<number> => {
      const app = createTestApp(db, { clock: () => new Date(Date.now() + clockOff) });
      const body = { name: "x", expiresAt: new Date(Date.now() + expiresIn).toISOString() };
      const request = new Request(`http://localhost${PATH}`, requestInit("POST", { key: root, body }));
      return (await app.handle(request)).status;
    };
    expect(await expiring(day, day / 2)).toBe(201);
    expect(await expiring(-day, -day / 2)).toBe(422);
  });
});
