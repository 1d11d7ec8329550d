import { describe, expect, test } from "bun:test";
import { findCredential } from "@realtime-avatar/db/callers/callers";
import { ApiKeyWithSecret } from "@realtime-avatar/domain/api-keys/schemas";
import { parseApiKey, verifyApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { isId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { callAnew, startApi } from "../../test/support/api.ts";

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

  test("the audit event of a new key: names actor, target and request", async () => {
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
});

test("an expiry, the service's clock wrong: the database's clock decides", async () => {
  const { db } = api.database;
  const day = 24 * 60 * 60 * 1000;
  const expiring = async (clockOff: number, expiresIn: number): Promise<number> => {
    const call = callAnew(db, { clock: () => new Date(Date.now() + clockOff) });
    const body = { name: "x", expiresAt: new Date(Date.now() + expiresIn).toISOString() };
    return (await call("POST", PATH, { key: root, body })).status;
  };
  expect(await expiring(day, day / 2)).toBe(201);
  expect(await expiring(-day, -day / 2)).toBe(422);
});
