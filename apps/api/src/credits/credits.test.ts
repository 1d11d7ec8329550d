import { describe, expect, test } from "bun:test";
import { CreditBalance, CreditEntryPage, UsageSummaryPage } from "@realtime-avatar/domain/credits/schemas";
import { validate } from "@realtime-avatar/domain/schema";
import { connectTo, IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { deliveredTypes, seedEndpoint } from "@realtime-avatar/testing/webhooks/events";
import { callAnew, startApi } from "../../test/support/api.ts";

const SECOND = 1_000_000;

const api = await startApi();

/** A tenant with 100 seconds of live credits, and its key. */
const newTenant = async () => {
  const { db } = api.database;
  const tenantId = await seedTenant(db, { live: 100 * SECOND });
  const key = (await seedKey(db, tenantId, { environment: "live", scopes: ["*", "usage:write"] })).secret.reveal();
  const get = async (path: string) => (await api.call("GET", `/api/v1${path}`, { key })).body;
  const post = async (path: string, body: object = {}) =>
    (await api.call("POST", `/api/v1/usage/sessions${path}`, { key, body })).body;
  return { tenantId, key, get, post };
};

describe("credits", () => {
  test("the balance, after sessions: reduced in one environment", async () => {
    const { tenantId, get, post } = await newTenant();
    const { sessionId } = await post("", { maxSessionSeconds: 60 });
    await post(`/${sessionId}/release`, { usedCreditMicros: 5 * SECOND });
    await post("", { maxSessionSeconds: 10 });
    const balance = await get("/credits/balance");
    expect(validate(CreditBalance, balance)).toEqual([]);
    expect(balance).toMatchObject({
      tenantId,
      environment: "live",
      balanceCreditMicros: 95 * SECOND,
      reservedCreditMicros: 10 * SECOND,
      availableCreditMicros: 85 * SECOND,
      lifetimeGrantedCreditMicros: 100 * SECOND,
      lifetimeUsedCreditMicros: 5 * SECOND,
    });
    const { secret } = await seedKey(api.database.db, tenantId, { scopes: ["credits:read"] });
    const inTest = await api.call("GET", "/api/v1/credits/balance", { key: secret.reveal() });
    expect(inTest.body).toMatchObject({ environment: "test", balanceCreditMicros: 3600 * SECOND });
  });

  test("the balance, read with a key: found by the look-up of the key, in one statement", async () => {
    const { key, get } = await newTenant();
    const expected = await get("/credits/balance");
    const statements: string[] = [];
    const watcher = { statement: (name: string) => void statements.push(name), batch: () => {}, batchRetry: () => {} };
    const db = connectTo(api.database, { connections: 1, watcher });
    const { status, body } = await callAnew(db)("GET", "/api/v1/credits/balance", { key });
    expect([status, body, statements]).toEqual([
      200,
      expected,
      [IS_ONE_DATABASE ? "find_credential_with_credits" : "find_one_credential"],
    ]);
    await db.close();
  });

  test("the balance, of a tenant without an account: 0", async () => {
    const { tenantId, get } = await newTenant();
    await api.database.db.client`delete from credit_accounts where tenant_id = ${tenantId}`;
    const balance = await get("/credits/balance");
    expect(validate(CreditBalance, balance)).toEqual([]);
    expect(balance).toMatchObject({ tenantId, balanceCreditMicros: 0, availableCreditMicros: 0 });
  });

  test("the threshold of low credits, changed and cleared: shown in the balance of one environment, and audited", async () => {
    const { tenantId, key, get } = await newTenant();
    const change = (lowThresholdCreditMicros: unknown) =>
      api.call("PATCH", "/api/v1/credits/balance", { key, body: { lowThresholdCreditMicros } });
    expect((await get("/credits/balance")).lowThresholdCreditMicros).toBeNull();
    const changed = await change(5 * SECOND);
    expect([changed.status, validate(CreditBalance, changed.body)]).toEqual([200, []]);
    expect(changed.body).toMatchObject({ availableCreditMicros: 100 * SECOND, lowThresholdCreditMicros: 5 * SECOND });
    expect(await get("/credits/balance")).toMatchObject({ lowThresholdCreditMicros: 5 * SECOND });
    const { data } = await get("/audit-events?action=credits.limit_changed");
    expect(data).toMatchObject([{ targetId: tenantId, changedFields: ["lowThresholdCreditMicros"] }]);
    const rows = await api.database.db.client`
      select environment from credit_accounts where tenant_id = ${tenantId} and low_threshold is not null`;
    expect([...rows]).toEqual([{ environment: "live" }]);
    for (const bad of [0, -1, 1.5, "5", 2 ** 53]) expect((await change(bad)).status).toBe(422);
    expect((await change(null)).body).toMatchObject({ lowThresholdCreditMicros: null });
  });

  test("the threshold, changed by a key without every scope: 403", async () => {
    const { tenantId } = await newTenant();
    const { secret } = await seedKey(api.database.db, tenantId, { scopes: ["credits:read", "api_keys:write"] });
    const body = { lowThresholdCreditMicros: 1 };
    expect((await api.call("PATCH", "/api/v1/credits/balance", { key: secret.reveal(), body })).status).toBe(403);
  });

  test("sessions, refused for lack of credits: one event for a tenant with an endpoint; none for an opened session", async () => {
    const { tenantId, key, post } = await newTenant();
    const { db } = api.database;
    await seedEndpoint(db, tenantId);
    await post("", { maxSessionSeconds: 10 });
    const refuse = () => api.call("POST", "/api/v1/usage/sessions", { key, body: { maxSessionSeconds: 1000 } });
    for (const _ of [1, 2, 3]) expect((await refuse()).body.code).toBe("insufficient_credits");
    expect(await deliveredTypes(db, tenantId, tenantId)).toEqual(["credits.exhausted"]);
  });

  test("the entries, filtered by kind, key and session: every movement of this tenant", async () => {
    const { get, post } = await newTenant();
    const { sessionId, apiKeyId } = await post("", { maxSessionSeconds: 60 });
    await post(`/${sessionId}/release`, { usedCreditMicros: 5 * SECOND });
    const page = await get("/credits/entries");
    expect(validate(CreditEntryPage, page)).toEqual([]);
    const shown = ({ data }: CreditEntryPage) => data.map((entry) => `${entry.kind} ${entry.amountCreditMicros}`);
    // Entries of one write are unordered among themselves.
    expect(shown(page).sort()).toEqual(["grant 100000000", "hold 60000000", "release 55000000", "settle 5000000"]);
    expect(shown(await get("/credits/entries?kind=hold"))).toEqual(["hold 60000000"]);
    for (const query of [`sessionId=${sessionId}`, `apiKeyId=${apiKeyId}`]) {
      expect(shown(await get(`/credits/entries?${query}`))).toHaveLength(3);
    }
    const other = await newTenant();
    expect(shown(await other.get(`/credits/entries?sessionId=${sessionId}`))).toEqual([]);
  });
});

describe("the usage summary", () => {
  test("the summary, grouped by day and key or avatar: sums, newest day first", async () => {
    const { tenantId, key, get, post } = await newTenant();
    const { id: avatarId } = (
      await api.call("POST", "/api/v1/avatars", { key, body: { displayName: "Ada", sourceKind: "image" } })
    ).body;
    await api.database.db.client`update avatars set status = 'ready' where id = ${avatarId}`;
    const ended = await post("", { maxSessionSeconds: 10, avatarId });
    await post(`/${ended.sessionId}/usage`, { usedCreditMicros: 0 });
    await api.database.db.client`
      update usage_sessions set started_at = now() - interval '7.5 seconds' where id = ${ended.sessionId}`;
    await post(`/${ended.sessionId}/release`, { usedCreditMicros: 4 * SECOND });
    await post("", { maxSessionSeconds: 20 });
    const { apiKeyId } = ended;
    const day = ended.createdAt.slice(0, 10);
    const byKey = await get("/usage/summary");
    expect(validate(UsageSummaryPage, byKey)).toEqual([]);
    const { activeSeconds } = byKey.data[0];
    // More seconds can pass on a busy machine.
    expect(activeSeconds).toBeWithin(8, 60);
    expect(byKey.data).toEqual([
      {
        day,
        apiKeyId,
        apiKeyName: "Key of a test",
        avatarId: null,
        avatarName: null,
        sessions: 2,
        activeSeconds,
        billedCreditMicros: 4 * SECOND,
        reservedCreditMicros: 20 * SECOND,
      },
    ]);
    const byAvatar = await get("/usage/summary?groupBy=avatar");
    expect(byAvatar.data).toMatchObject([
      { day, avatarId, apiKeyId: null, sessions: 1, billedCreditMicros: 4 * SECOND },
      { day, avatarId: null, apiKeyId: null, sessions: 1, reservedCreditMicros: 20 * SECOND },
    ]);
    const other = await newTenant();
    expect((await other.get("/usage/summary")).data).toEqual([]);
    expect(tenantId).not.toBe(other.tenantId);
  });

  test("the summary, many sessions: a page adds up a bounded number, each session once", async () => {
    const { tenantId, key, get } = await newTenant();
    await api.database.db.client.unsafe(`
      insert into usage_sessions (
        tenant_id, id, environment, api_key_id, lineage, status, reserved, used, price, metadata, created_at, ended_at,
        expires_at
      )
      select '${tenantId}', 'ses_01m4z' || lpad(i::text, 21, '0'), 'live', 'key_' || i % 3, '{}', 'released', 2, 1, 1,
        '{}', timestamptz '2026-10-12T00:00:00Z' + make_interval(mins => i), now(), now()
      from generate_series(1, 7000) i`);
    const query = "from=2026-09-01T00:00:00Z&to=2026-11-01T00:00:00Z";
    const first = await get(`/usage/summary?${query}`);
    const sum = ({ data }: UsageSummaryPage) => data.reduce((all, { sessions }) => all + sessions, 0);
    expect(sum(first)).toBe(5000);
    expect(validate(UsageSummaryPage, first)).toEqual([]);
    const second = await get(`/usage/summary?cursor=${first.nextCursor}`);
    expect([sum(second), second.nextCursor, second.from, second.to]).toEqual([2000, null, first.from, first.to]);
    // A cursor is valid only for its list and its grouping.
    const refused = await api.call("GET", `/api/v1/usage/summary?groupBy=avatar&cursor=${first.nextCursor}`, { key });
    expect(refused.body.errors).toMatchObject([{ code: "invalid_cursor" }]);
    const sessions = await get(`/usage/sessions?${query}&limit=1`);
    expect((await get(`/usage/summary?cursor=${sessions.nextCursor}`)).errors).toMatchObject([
      { code: "invalid_cursor" },
    ]);
    expect((await get(`/usage/sessions?cursor=${first.nextCursor}`)).errors).toMatchObject([
      { code: "invalid_cursor" },
    ]);
  });
});
