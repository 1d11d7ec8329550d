/** Attacks on the bill of a tenant, by its own keys, over HTTP: the served time is charged. */
import { describe, expect, test } from "bun:test";
import type { Scope } from "@realtime-avatar/domain/api-keys/scope";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { startApi } from "../support/api.ts";

const SECOND = 1_000_000;
const api = await startApi();

/** A tenant with an hour of live credits, a key for its engine, and a key that may only open and end calls. */
const newTenant = async () => {
  const { db } = api.database;
  const tenantId = await seedTenant(db, { live: 3600 * SECOND });
  const keyOf = async (...scopes: Scope[]) => (await seedKey(db, tenantId, { environment: "live", scopes })).secret;
  const engine = (await keyOf("usage:write", "usage:read", "credits:read")).reveal();
  const developer = (await keyOf("realtime:write", "usage:write")).reveal();
  const caller = (await keyOf("realtime:write")).reveal();
  const post = (key: string, path: string, body: object = {}) =>
    api.call("POST", `/api/v1/usage/sessions${path}`, { key, body });
  const get = async (path: string) => (await api.call("GET", `/api/v1${path}`, { key: engine })).body;
  const openBy = async (key: string): Promise<string> =>
    (await post(key, "", { maxSessionSeconds: 600 })).body.sessionId;
  return { tenantId, engine, developer, caller, post, get, openBy };
};

test("a session after a report of 300 s, released with 0 by a key with usage:write: charged 300 s; the engine's figure gets the same response", async () => {
  const { engine, developer, post, get, openBy } = await newTenant();
  const id = await openBy(developer);
  await post(engine, `/${id}/usage`, { usedCreditMicros: 300 * SECOND });
  const released = await post(developer, `/${id}/release`, { usedCreditMicros: 0 });
  expect(released).toMatchObject({ status: 200, body: { status: "released", billedCreditMicros: 300 * SECOND } });
  expect((await post(developer, `/${id}/release`, { usedCreditMicros: 0 })).body).toEqual(released.body);
  const final = await post(engine, `/${id}/release`, { usedCreditMicros: 300 * SECOND });
  expect([final.status, final.body]).toEqual([200, released.body]);
  const { lifetimeUsedCreditMicros, reservedCreditMicros } = await get("/credits/balance");
  expect([lifetimeUsedCreditMicros, reservedCreditMicros]).toEqual([300 * SECOND, 0]);
});

describe("a session, released by a key with only realtime:write right after a report", () => {
  test("the engine, reporting and releasing after it: accepted, and its final figure is charged", async () => {
    const { engine, caller, post, get, openBy } = await newTenant();
    const id = await openBy(caller);
    await post(engine, `/${id}/usage`, { usedCreditMicros: 0 });
    const released = await post(caller, `/${id}/release`, { reason: "done" });
    expect(released).toMatchObject({
      status: 200,
      body: { status: "started", mustEnd: true, endedAt: null, billedCreditMicros: null },
    });
    expect((await get("/credits/balance")).reservedCreditMicros).toBe(600 * SECOND);
    const again = await post(caller, `/${id}/release`, { reason: "done" });
    expect([again.status, again.body, again.headers.get("etag")]).toEqual([
      200,
      released.body,
      released.headers.get("etag"),
    ]);
    const report = await post(engine, `/${id}/usage`, { usedCreditMicros: 17 * SECOND });
    expect(report).toMatchObject({ status: 200, body: { status: "started", mustEnd: true } });
    const final = await post(engine, `/${id}/release`, { usedCreditMicros: 18 * SECOND });
    expect(final).toMatchObject({
      status: 200,
      body: { status: "released", mustEnd: false, billedCreditMicros: 18 * SECOND },
    });
    const { lifetimeUsedCreditMicros, reservedCreditMicros } = await get("/credits/balance");
    expect([lifetimeUsedCreditMicros, reservedCreditMicros]).toEqual([18 * SECOND, 0]);
  });

  test("no final figure until the end of the lease: the reported usage is charged", async () => {
    const { engine, caller, post, get, openBy } = await newTenant();
    const id = await openBy(caller);
    await post(engine, `/${id}/usage`, { usedCreditMicros: 17 * SECOND });
    await post(caller, `/${id}/release`);
    await api.database.db.client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${id}`;
    // A release of an overdue session ends it like the sweep.
    const late = await post(caller, `/${id}/release`);
    expect(late).toMatchObject({ status: 200, body: { status: "released", billedCreditMicros: 17 * SECOND } });
    const { lifetimeUsedCreditMicros, reservedCreditMicros } = await get("/credits/balance");
    expect([lifetimeUsedCreditMicros, reservedCreditMicros]).toEqual([17 * SECOND, 0]);
  });
});
