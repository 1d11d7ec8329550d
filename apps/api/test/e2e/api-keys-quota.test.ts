/** The quota of active API keys of a tenant. */
import { describe, expect, test } from "bun:test";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { callAnew, rowCounts, startApi, TEST_CONFIG } from "../support/api.ts";
import { apiKeyCalls, outcome, PATH } from "../support/api-keys.ts";

const api = await startApi();

const { expire } = apiKeyCalls(api);

describe("the quota of active keys", () => {
  /** A tenant with a root key, and a function that creates keys with it. */
  const tenantOf = async (maximum: number) => {
    const call = callAnew(api.database.db, { config: { ...TEST_CONFIG, maxActiveKeysPerTenant: maximum } });
    const tenantId = await seedTenant(api.database.db);
    const own = (await seedKey(api.database.db, tenantId, { environment: "live", scopes: ["*"] })).secret.reveal();
    const create = (key = own, body: object = {}, headers = {}) =>
      call("POST", PATH, { key, body: { name: "x", scopes: ["*"], ...body }, headers });
    return { call, own, create };
  };

  test("a key above the quota: 409; revoked and expired lineages do not count", async () => {
    const { call, own, create } = await tenantOf(4);
    const [parent, second, third] = [await create(), await create(), await create()];
    expect([parent, second, third].map(({ status }) => status)).toEqual([201, 201, 201]);
    const before = await rowCounts(api.database);
    const refused = await create();
    expect(outcome(refused)).toEqual([409, "quota_exceeded"]);
    expect(refused.body).toMatchObject({ retryable: false, detail: expect.stringContaining("4") });
    expect(await rowCounts(api.database)).toEqual(before);
    // A revoked key makes room.
    await call("DELETE", `${PATH}/${third.body.id}`, { key: own });
    const child = await create(parent.body.apiKey);
    expect(child.status).toBe(201);
    expect(outcome(await create())).toEqual([409, "quota_exceeded"]);
    // A revoked ancestor frees two places: its own and its descendant's.
    await call("DELETE", `${PATH}/${parent.body.id}`, { key: own });
    expect([(await create()).status, (await create()).status]).toEqual([201, 201]);
    expect(outcome(await create())).toEqual([409, "quota_exceeded"]);
    await expire(second.body.id);
    expect((await create()).status).toBe(201);
  });

  test("a replay, at the quota: replayed; a refusal: not stored", async () => {
    const { call, own, create } = await tenantOf(2);
    const headers = { "idempotency-key": "one-key" };
    const first = await create(own, {}, headers);
    expect(first.status).toBe(201);
    const again = await create(own, {}, headers);
    expect([again.status, again.headers.get("idempotent-replayed"), again.text]).toEqual([201, "true", first.text]);
    const another = { "idempotency-key": "another" };
    expect(outcome(await create(own, {}, another))).toEqual([409, "quota_exceeded"]);
    await call("DELETE", `${PATH}/${first.body.id}`, { key: own });
    expect((await create(own, {}, another)).status).toBe(201);
  });
});
