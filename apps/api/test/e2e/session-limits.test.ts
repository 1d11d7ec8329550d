/** Limits of open sessions over HTTP: of a key, of its ancestors and of the tenant. */
import { describe, expect, test } from "bun:test";
import { findCreditDrift } from "@realtime-avatar/db/credits/invariants";
import { sweepSessions } from "@realtime-avatar/db/credits/usage-sessions";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import type { CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import { operatorOrigin, seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { startApi } from "../support/api.ts";

const SECOND = 1_000_000;
const PATH = "/api/v1/usage/sessions";
const api = await startApi();

const newTenant = async () => {
  const { db } = api.database;
  const tenantId = await seedTenant(db, { live: 3600 * SECOND });
  const newKey = async (request: Partial<CreateApiKey> = {}, parent?: ApiKeyRecord) => {
    const scopes = ["*" as const, "usage:write" as const];
    const { record, secret } = await seedKey(db, tenantId, { environment: "live", scopes, ...request }, parent);
    return { record, key: secret.reveal() };
  };
  const setTenantLimit = (limit: number) =>
    db.client`update credit_accounts set max_concurrent_sessions = ${limit} where tenant_id = ${tenantId}`;
  /** Data that a refusal must not change. */
  const written = async () => [
    await db.client`select xmin, * from credit_accounts where tenant_id = ${tenantId} order by environment`,
    await db.client`select xmin, * from api_key_meters where tenant_id = ${tenantId} order by api_key_id`,
    await db.client`select count(*)::integer from credit_entries where tenant_id = ${tenantId}`,
  ];
  return { tenantId, newKey, setTenantLimit, written };
};
const open = (key: string, idempotencyKey?: string) =>
  api.call("POST", PATH, {
    key,
    body: { maxSessionSeconds: 10 },
    headers: idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
  });
const end = (key: string, { body }: { body: { sessionId: string } }) =>
  api.call("POST", `${PATH}/${body.sessionId}/release`, { key, body: {} });
const shown = ({ status, body }: Awaited<ReturnType<typeof open>>) => {
  const { type: _, title: __, detail: ___, requestId: ____, ...rest } = body;
  return status === 201 ? 201 : rest;
};
const REFUSED = { status: 429, code: "concurrency_limit_reached", retryable: true };

describe("a key at its limit of open sessions", () => {
  test("429 with the limit and its own counts, without a write; after a release: 201", async () => {
    const { newKey, written } = await newTenant();
    const { key, record } = await newKey({ maxConcurrentSessions: 2 });
    const child = await newKey({}, record);
    const [first, second] = [await open(key), await open(child.key)];
    await api.call("POST", `${PATH}/${first.body.sessionId}/usage`, { key, body: { usedCreditMicros: 0 } });
    const before = await written();
    const counts = { liveSessions: 2, activeSessions: 1, connectingSessions: 1, pendingSessions: 0 };
    const refused = { ...REFUSED, limitedBy: "self", maxConcurrentSessions: 2, ...counts };
    expect(shown(await open(key))).toEqual(refused);
    expect(await written()).toEqual(before);
    await end(key, second);
    expect(shown(await open(key))).toBe(201);
    // The first session continues: a release by a key without usage:write frees no place.
    const caller = await newKey({ scopes: ["realtime:write"] }, record);
    const third = await open(caller.key);
    expect(third.status).toBe(429);
    await end(key, first);
    expect(shown(await open(caller.key))).toBe(201);
  });

  test("of an ancestor or of the tenant: 429 with only the limit", async () => {
    const { newKey, setTenantLimit } = await newTenant();
    const root = await newKey({ maxConcurrentSessions: 1 });
    const child = await newKey({}, root.record);
    const other = await newKey();
    expect([shown(await open(root.key)), shown(await open(other.key))]).toEqual([201, 201]);
    const ofLimit = { ...REFUSED, maxConcurrentSessions: 1 };
    expect(shown(await open(child.key))).toEqual({ ...ofLimit, limitedBy: "ancestor" });
    await setTenantLimit(2);
    expect(shown(await open(other.key))).toEqual({ ...REFUSED, limitedBy: "tenant", maxConcurrentSessions: 2 });
  });

  test("many requests at once: exactly as many sessions as the limit", async () => {
    const { tenantId, newKey, setTenantLimit } = await newTenant();
    const root = await newKey();
    const child = await newKey({ maxConcurrentSessions: 5 }, root.record);
    await setTenantLimit(8);
    const all = await Promise.all(
      Array.from({ length: 60 }, (_, at) => open(at % 2 ? child.key : root.key).then(({ status }) => status)),
    );
    expect(all.filter((status) => status === 201)).toHaveLength(8);
    expect(all.filter((status) => status === 429)).toHaveLength(52);
    const [meter] = await api.database.db.client`
      select open_sessions::integer as open from api_key_meters where api_key_id = ${child.record.id}`;
    expect(meter?.["open"]).toBeLessThanOrEqual(5);
    expect(await findCreditDrift(api.database.db, tenantId, 10)).toEqual([]);
  });

  test("a session open in the other environment: not counted", async () => {
    const { newKey } = await newTenant();
    const root = await newKey({ maxConcurrentSessions: 1 });
    const inTest = await newKey({ environment: "test" }, root.record);
    expect(shown(await open(inTest.key))).toBe(201);
    expect(shown(await open(root.key))).toBe(201);
  });

  test("its session overdue: closed first, then 201; an earlier request: replayed", async () => {
    const { tenantId, newKey } = await newTenant();
    const { key } = await newKey({ maxConcurrentSessions: 1 });
    const first = await open(key, "first");
    expect((await open(key, "second")).status).toBe(429);
    const again = await open(key, "first");
    expect([again.status, again.headers.get("idempotent-replayed"), again.body]).toEqual([201, "true", first.body]);
    await api.database.db.client`
      update usage_sessions set expires_at = now() - interval '1 second' where tenant_id = ${tenantId}`;
    expect((await open(key, "second")).status).toBe(201);
  });
});

describe("credit entries", () => {
  test("entries read by a created key: of itself and its descendants; by a root key: all", async () => {
    const { newKey } = await newTenant();
    const root = await newKey();
    const child = await newKey({}, root.record);
    const grandchild = await newKey({}, child.record);
    const sibling = await newKey({}, root.record);
    for (const { key } of [root, child, grandchild, sibling]) expect((await open(key)).status).toBe(201);
    const keysOf = async (key: string, query = "") => {
      const { body } = await api.call("GET", `/api/v1/credits/entries?limit=100${query}`, { key });
      return body.data.map(({ apiKeyId }: { apiKeyId: string | null }) => apiKeyId).sort();
    };
    const ids = [root, child, grandchild, sibling].map(({ record }) => record.id);
    expect(await keysOf(root.key, "&kind=hold")).toEqual([...ids].sort());
    expect(await keysOf(root.key)).toContain(null);
    expect(await keysOf(child.key)).toEqual([child.record.id, grandchild.record.id].sort());
    expect(await keysOf(grandchild.key)).toEqual([grandchild.record.id]);
    for (const { record } of [root, sibling]) expect(await keysOf(child.key, `&apiKeyId=${record.id}`)).toEqual([]);
  });

  test("entries of a released or swept session: the callers of the last report and of the end, as in the session", async () => {
    const { newKey } = await newTenant();
    const caller = await newKey();
    const engine = await newKey();
    const [ended, swept] = [await open(caller.key), await open(caller.key)];
    const post = (path: string) => api.call("POST", `${PATH}/${path}`, { key: engine.key, body: {} });
    await api.call("POST", `${PATH}/${ended.body.sessionId}/usage`, { key: engine.key, body: { usedCreditMicros: 1 } });
    expect((await post(`${ended.body.sessionId}/release`)).body).toMatchObject({
      ...{ apiKeyId: caller.record.id, reportedBy: engine.record.id, closedBy: engine.record.id },
    });
    await api.database.db.client`
      update usage_sessions set expires_at = now() - interval '1 second' where id = ${swept.body.sessionId}`;
    await sweepSessions(api.database.db, null, operatorOrigin());
    const entriesOf = async (id: string) => {
      const { body } = await api.call("GET", `/api/v1/credits/entries?sessionId=${id}`, { key: caller.key });
      return body.data
        .map(({ kind, reportedBy, closedBy }: Record<string, string>) => [kind, reportedBy, closedBy])
        .sort();
    };
    const engineId = engine.record.id;
    expect(await entriesOf(ended.body.sessionId)).toEqual([
      ["hold", null, null],
      ["release", engineId, engineId],
      ["settle", engineId, engineId],
    ]);
    expect(await entriesOf(swept.body.sessionId)).toEqual([
      ["expire", null, "sweep"],
      ["hold", null, null],
      ["settle", null, "sweep"],
    ]);
  });
});
