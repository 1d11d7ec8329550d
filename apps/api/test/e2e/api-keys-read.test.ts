/** API keys by id, by `self` and in lists, with the limits of their lineage. */
import { describe, expect, test } from "bun:test";
import { type ApiKey, ApiKeyWithCreator } from "@realtime-avatar/domain/api-keys/schemas";
import { validate } from "@realtime-avatar/domain/schema";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { type Answer, startApi } from "../support/api.ts";
import { apiKeyCalls, outcome, PATH, withoutSecret } from "../support/api-keys.ts";

const api = await startApi();
const root = await api.key();

const { make, get, patch, revoke, rotate } = apiKeyCalls(api);

describe("the reading of one key", () => {
  test("a key, read: as at its creation, without the secret", async () => {
    const made = await make(root, { spendLimitCreditMicros: 5, expiresAt: "2090-01-01T00:00:00Z" });
    const { status, headers, body } = await get(root, made.id);
    expect([status, headers.get("etag")]).toEqual([200, '"1"']);
    expect(body).toMatchObject(withoutSecret(made));
    expect(validate(ApiKeyWithCreator, body)).toEqual([]);
  });

  test("a key of the other environment, read by a live key: 200; by a test key: 404", async () => {
    const live = await make(root, { environment: "live" });
    const inTest = await make(root, { environment: "test" });
    expect((await get(root, inTest.id)).body.environment).toBe("test");
    expect((await get(root, live.id)).body.environment).toBe("live");
    expect((await get(inTest.apiKey, inTest.id)).status).toBe(200);
    expect(outcome(await get(inTest.apiKey, live.id))).toEqual([404, "not_found"]);
  });

  test("a wider key, read by a narrow one: 200; changed: 403", async () => {
    const narrow = await make(root, { environment: "live", scopes: ["api_keys:write"] });
    const wide = await make(root, { environment: "live", scopes: ["*"] });
    expect((await get(narrow.apiKey, wide.id)).status).toBe(200);
    expect(outcome(await patch(narrow.apiKey, wide.id, { name: "y" }))).toEqual([403, "grant_exceeds_caller"]);
  });
});

describe("the key itself, by self", () => {
  test.each([[["usage:read"]], [["api_keys:write"]], [["*"]]] as const)(
    "a key with scopes %j, reading self: 200",
    async (scopes) => {
      const made = await make(root, { scopes: [...scopes], spendLimitCreditMicros: 7 });
      const { status, headers, body } = await api.call("GET", `${PATH}/self`, { key: made.apiKey });
      expect([status, headers.get("etag")]).toEqual([200, '"1"']);
      expect(body).toEqual(withoutSecret(made));
    },
  );

  test("a rotated key, reading self: names its newest credential", async () => {
    const made = await make(root);
    const { body: rotated } = await rotate(root, made.id, { overlapSeconds: 600 });
    for (const key of [made.apiKey, rotated.apiKey]) {
      const { body } = await api.call("GET", `${PATH}/self`, { key });
      expect([body.id, body.keyId, body.redactedKey]).toEqual([made.id, rotated.keyId, rotated.redactedKey]);
    }
  });
});

/** A tenant with a live key that can list keys. */
const tenant = async (): Promise<string> => {
  const id = await seedTenant(api.database.db);
  return (await seedKey(api.database.db, id, { environment: "live", scopes: ["*"], name: "root" })).secret.reveal();
};
const list = (key: string, query = "") => api.call("GET", `${PATH}${query}`, { key });

describe("the list of keys", () => {
  const names = ({ body }: Answer): string[] => body.data.map(({ name }: ApiKey) => name);

  test("the list, of a tenant: every key, newest first, each equal to its own read", async () => {
    const key = await tenant();
    await make(key, { name: "a" });
    const made = await make(key, { name: "b", environment: "live", spendLimitCreditMicros: 3 });
    const { status, body, text } = await list(key);
    expect(status).toBe(200);
    expect(body.nextCursor).toBeNull();
    expect(body.data.map(({ name }: ApiKey) => name)).toEqual(["b", "a", "root"]);
    expect(body.data[0]).toMatchObject(withoutSecret(made));
    expect(text).not.toContain("apiKey");
  });

  test("the list, read with a test key: only its environment, for any query", async () => {
    const key = await tenant();
    const inTest = await make(key, { name: "in test" });
    expect(names(await list(inTest.apiKey))).toEqual(["in test"]);
    expect(names(await list(inTest.apiKey, "?environment=live"))).toEqual([]);
    // A cursor grants no access.
    await make(key, { name: "live", environment: "live" });
    const { body } = await list(key, "?environment=live&limit=1");
    expect(names(await list(inTest.apiKey, `?cursor=${body.nextCursor}`))).toEqual([]);
  });

  test("the list, with its total: the visible keys of the tenant that match the filters", async () => {
    const { db } = api.database;
    const id = await seedTenant(db);
    const { secret } = await seedKey(db, id, { environment: "live", scopes: ["*"] });
    const { secret: inTest } = await seedKey(db, id, { environment: "test", scopes: ["*"] });
    await seedKey(db, id, { environment: "test", name: "another" });
    const total = async (key: string, query: string) =>
      (await api.call("GET", `${PATH}?limit=1&${query}`, { key })).body.total;
    expect(await total(secret.reveal(), "total=true")).toEqual({ count: 3, isExact: true });
    expect(await total(secret.reveal(), "total=true&environment=test&status=active")).toEqual({
      count: 2,
      isExact: true,
    });
    expect(await total(secret.reveal(), "total=true&name=anoth")).toEqual({ count: 1, isExact: true });
    expect(await total(inTest.reveal(), "total=true")).toEqual({ count: 2, isExact: true });
    expect(await total(inTest.reveal(), "total=true&environment=live")).toEqual({ count: 0, isExact: true });
    // The total is sent only on request.
    expect(await total(secret.reveal(), "status=active")).toBeUndefined();
    const refused = await api.call("GET", `${PATH}?total=1`, { key: secret.reveal() });
    expect([refused.status, refused.body.errors[0].parameter]).toEqual([422, "total"]);
  });

  test("the list, several parameters wrong: all errors, no value repeated", async () => {
    const { body, text } = await list(root, "?limit=forbidden&status=forbidden&cursor=forbidden%00&other=forbidden");
    expect(body.errors.map(({ parameter }: { parameter: string }) => parameter)).toEqual([
      "limit",
      "status",
      "cursor",
      "other",
    ]);
    expect(text).not.toContain("forbidden");
  });
});

describe("the parent of a key", () => {
  const parents = async (key: string, ids: readonly string[]) => {
    const { body } = await list(key, "?limit=100");
    const read = await Promise.all(ids.map(async (id) => (await get(key, id)).body.parentId));
    expect(ids.map((id) => body.data.find((listed: ApiKey) => listed.id === id).parentId)).toEqual(read);
    return read;
  };

  test("the parent of a child: its id in every response; of a root key: null", async () => {
    const key = await tenant();
    const { id } = (await api.call("GET", `${PATH}/self`, { key })).body;
    const child = await make(key, { environment: "live" });
    const grandchild = await make(child.apiKey, { environment: "live" });
    expect([child.parentId, grandchild.parentId]).toEqual([id, child.id]);
    expect(await parents(key, [id, child.id, grandchild.id])).toEqual([null, id, child.id]);
    expect((await patch(key, grandchild.id, { name: "y" })).body.parentId).toBe(child.id);
    expect((await rotate(key, grandchild.id)).body.parentId).toBe(child.id);
    expect((await revoke(key, grandchild.id)).body.parentId).toBe(child.id);
    expect((await api.call("GET", `${PATH}/self`, { key: child.apiKey })).body.parentId).toBe(id);
  });

  test("a live parent, seen by its test child: only its id; a read of the parent: 404", async () => {
    const key = await tenant();
    const { id } = (await api.call("GET", `${PATH}/self`, { key })).body;
    const inTest = await make(key, { environment: "test" });
    expect(await parents(inTest.apiKey, [inTest.id])).toEqual([id]);
    expect(outcome(await get(inTest.apiKey, id))).toEqual([404, "not_found"]);
  });
});

describe("the limits of a lineage", () => {
  const limits = ({ body }: Answer) => [
    body.spendLimitCreditMicros,
    body.effectiveSpendLimitCreditMicros,
    body.expiresAt,
    body.effectiveExpiresAt,
  ];

  test("the limits of a key whose ancestors have changed: each key shows its remaining limits", async () => {
    const live = { environment: "live" } as const;
    const parent = await make(root, live);
    const child = await make(parent.apiKey, live);
    const grandchild = await make(child.apiKey, {
      ...live,
      spendLimitCreditMicros: 7,
      expiresAt: "2090-01-01T00:00:00Z",
    });
    const inTest = await make(child.apiKey, { environment: "test" });
    expect(limits(await get(root, child.id))).toEqual([null, null, null, null]);
    await patch(root, parent.id, { spendLimitCreditMicros: 0, expiresAt: "2080-01-01T00:00:00Z" });
    const until = "2080-01-01T00:00:00.000Z";
    expect(limits(await get(root, parent.id))).toEqual([0, 0, until, until]);
    expect(limits(await get(root, child.id))).toEqual([null, 0, null, until]);
    expect(limits(await get(root, grandchild.id))).toEqual([7, 0, "2090-01-01T00:00:00.000Z", until]);
    // Use in test does not count against live caps. An expiry applies in both environments.
    expect(limits(await get(root, inTest.id))).toEqual([null, null, null, until]);
    // The limits are the same in a list, for the key itself, and in the responses to a change, a rotation, a creation
    // and a revocation.
    const { body: page } = await list(root, "?limit=100");
    const listed = page.data.find(({ id }: ApiKey) => id === child.id);
    expect(limits({ body: listed } as Answer)).toEqual([null, 0, null, until]);
    expect(limits(await api.call("GET", `${PATH}/self`, { key: child.apiKey }))).toEqual([null, 0, null, until]);
    expect(limits(await patch(child.apiKey, child.id, { name: "y" }))).toEqual([null, 0, null, until]);
    expect(limits(await patch(root, grandchild.id, { spendLimitCreditMicros: null }))).toEqual([
      null,
      0,
      "2090-01-01T00:00:00.000Z",
      until,
    ]);
    expect(limits(await rotate(root, child.id))).toEqual([null, 0, null, until]);
    const created = await make(grandchild.apiKey, { ...live, expiresAt: "2070-01-01T00:00:00Z" });
    expect(limits({ body: created } as never)).toEqual([
      null,
      0,
      "2070-01-01T00:00:00.000Z",
      "2070-01-01T00:00:00.000Z",
    ]);
    expect(limits(await revoke(root, child.id))).toEqual([null, 0, null, until]);
  });
});
