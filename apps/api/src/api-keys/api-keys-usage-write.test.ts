/**
 * Attacks: a tenant tries to get a key with `usage:write`, because such a key could reduce the charges of the tenant.
 */
import { describe, expect, test } from "bun:test";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import type { Scope } from "@realtime-avatar/domain/api-keys/scope";
import { seedKey } from "@realtime-avatar/testing/seeds";
import { type Answer, startApi } from "../../test/support/api.ts";
import { seedPerson } from "../../test/support/people/people.ts";
import { expectProblem } from "../../test/support/routes.ts";

const KEYS = "/api/v1/api-keys";
const SESSIONS = "/api/v1/usage/sessions";
const api = await startApi();
const developer = await seedPerson(api, "developer");

/** Creates a live key of the operator, or of `parent`. */
const keyWith = async (scopes: Scope[], parent?: ApiKeyRecord) => {
  const { record, secret } = await seedKey(api.database.db, api.tenantId, { environment: "live", scopes }, parent);
  return { record, id: record.id, secret: secret.reveal() };
};

/** Sends requests as a tenant, with a key or as a person. */
type Send = (method: string, path: string, body?: object, headers?: Record<string, string>) => Promise<Answer>;
const sendAs =
  (key: string): Send =>
  (method, path, body, headers = {}) =>
    api.call(method, path, { key, headers, ...(body && { body }) });

/** The caller of a tenant. `parent`: a key whose descendants the caller reaches; a person reaches every key. */
type Tenant = { send: Send; parent?: ApiKeyRecord };
const keyTenant = async (ancestor?: ApiKeyRecord): Promise<Tenant> => {
  const { record, secret } = await keyWith(["*"], ancestor);
  return { send: sendAs(secret), parent: record };
};
const TENANTS: [string, () => Promise<Tenant>][] = [
  ["a developer", async () => ({ send: developer.call })],
  ["an owner", async () => ({ send: (await seedPerson(api, "owner")).call })],
  ["a key with *", () => keyTenant()],
  ["a grandchild of a key with *", async () => keyTenant((await keyWith(["*"], (await keyWith(["*"])).record)).record)],
];

describe.each(TENANTS)("%s", (_, start) => {
  test.each([[["usage:write"]], [["*", "usage:write"]], [["usage:write", "avatars:read"]]])(
    "creates a key with %j, live or test: 403",
    async (scopes) => {
      const { send } = await start();
      for (const environment of ["live", "test"]) {
        expectProblem(await send("POST", KEYS, { name: "x", environment, scopes }), "grant_exceeds_caller");
      }
    },
  );

  test("creates a key with *: this key cannot report usage, set a charge or create an engine's key", async () => {
    const { send } = await start();
    const created = await send("POST", KEYS, { name: "x", environment: "live", scopes: ["*"] });
    expect(created.status).toBe(201);
    const child = sendAs(created.body.apiKey);
    expectProblem(await child("POST", KEYS, { name: "y", scopes: ["usage:write"] }), "grant_exceeds_caller");
    const { sessionId } = (await child("POST", SESSIONS, { maxSessionSeconds: 60 })).body;
    for (const path of [`${SESSIONS}/${sessionId}/usage`, `${SESSIONS}/${sessionId}/release`]) {
      const refused = await child("POST", path, { usedCreditMicros: 0 });
      expectProblem(refused, "insufficient_scope");
      expect(refused.body).toMatchObject({ requiredScope: "usage:write", grantedScopes: ["*"] });
    }
  });

  test("widens a key to usage:write, or any field of an engine's key: 403", async () => {
    const { send, parent } = await start();
    const plain = await keyWith(["*"], parent);
    const engine = await keyWith(["usage:write"], parent);
    const change = (id: string, body: object) => send("PATCH", `${KEYS}/${id}`, body);
    for (const scopes of [["usage:write"], ["*", "usage:write"]]) {
      expectProblem(await change(plain.id, { scopes }), "grant_exceeds_caller");
    }
    // A caller that may narrow the engine's key cannot widen it again.
    expect((await change(engine.id, { spendLimitCreditMicros: 5 })).status).toBe(200);
    expectProblem(await change(engine.id, { spendLimitCreditMicros: null }), "grant_exceeds_caller");
    expectProblem(await change(engine.id, { scopes: ["*", "usage:write"] }), "grant_exceeds_caller");
    expect((await change(engine.id, { scopes: ["realtime:write"] })).body.scopes).toEqual(["realtime:write"]);
    expectProblem(await change(engine.id, { scopes: ["usage:write"] }), "grant_exceeds_caller");
  });

  test("rotates an engine's key, also in an overlap and with an Idempotency-Key: 403; revokes it: allowed", async () => {
    const { send, parent } = await start();
    const engine = await keyWith(["api_keys:write", "usage:write"], parent);
    const path = `${KEYS}/${engine.id}`;
    const rotate = (headers = {}) => send("POST", `${path}/rotate`, { overlapSeconds: 60 }, headers);
    expectProblem(await rotate(), "grant_exceeds_caller");
    // The engine's own rotation leaves an overlap.
    expect((await sendAs(engine.secret)("POST", `${path}/rotate`, { overlapSeconds: 3600 })).status).toBe(200);
    for (const headers of [{}, { "idempotency-key": "rotate-engine" }, { "idempotency-key": "rotate-engine" }]) {
      expectProblem(await rotate(headers), "grant_exceeds_caller");
    }
    expect((await send("DELETE", path)).body.status).toBe("revoked");
  });

  test("repeats requests of a key with usage:write, with the same Idempotency-Keys: 403", async () => {
    const { send, parent } = await start();
    const holder = sendAs((await keyWith(["*", "usage:write"], parent)).secret);
    const headers = { "idempotency-key": "once" };
    const body = { name: "engine", environment: "live", scopes: ["usage:write"] };
    const created = await holder("POST", KEYS, body, headers);
    expectProblem(await send("POST", KEYS, body, headers), "grant_exceeds_caller");
    const rotation = `${KEYS}/${created.body.id}/rotate`;
    expect((await holder("POST", rotation, {}, headers)).status).toBe(200);
    expectProblem(await send("POST", rotation, {}, headers), "grant_exceeds_caller");
  });
});

describe("a key that names usage:write", () => {
  test("with api_keys:write: grants it, rotates and widens descendants, and rotates itself", async () => {
    const { id, secret } = await keyWith(["*", "usage:write"]);
    const send = sendAs(secret);
    const child = await send("POST", KEYS, { name: "engine", environment: "live", scopes: ["usage:write"] });
    expect(child.status).toBe(201);
    const path = `${KEYS}/${child.body.id}`;
    expect((await send("POST", `${path}/rotate`, {})).status).toBe(200);
    expect((await send("PATCH", path, { scopes: ["*", "usage:write"] })).status).toBe(200);
    const rotated = await send("POST", `${KEYS}/${id}/rotate`, { overlapSeconds: 60 });
    expect(rotated.body.scopes).toEqual(["*", "usage:write"]);
  });

  test("usage:write and api_keys:write alone: cannot grant *, 403", async () => {
    const { secret } = await keyWith(["api_keys:write", "usage:write"]);
    const refused = await sendAs(secret)("POST", KEYS, { name: "x", environment: "live", scopes: ["*"] });
    expectProblem(refused, "grant_exceeds_caller");
  });

  test("an ancestor that has lost usage:write: can narrow and revoke the key; a rotation: 403", async () => {
    const parent = await keyWith(["*", "usage:write"]);
    const engine = await keyWith(["usage:write"], parent.record);
    const send = sendAs(parent.secret);
    expect((await send("PATCH", `${KEYS}/${parent.id}`, { scopes: ["*"] })).status).toBe(200);
    expectProblem(await send("POST", `${KEYS}/${engine.id}/rotate`, {}), "grant_exceeds_caller");
    expect((await send("PATCH", `${KEYS}/${engine.id}`, { spendLimitCreditMicros: 1 })).status).toBe(200);
    expect((await send("DELETE", `${KEYS}/${engine.id}`)).status).toBe(200);
  });
});
