import { describe, expect, test } from "bun:test";
import type { TenantId } from "@realtime-avatar/domain/id";
import { PRICE, seedCaller, seedMovement, seedSession, sessionRequest } from "@realtime-avatar/testing/credits";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import type { Caller } from "../callers/callers.ts";
import { findCreditBalance } from "./credits.ts";
import { openUsageSession, releaseSession, reportUsage, type SessionRequest, sweepSessions } from "./usage-sessions.ts";

const database = await fileDatabase();

describe("a usage session", () => {
  test("a session, opened, reported and released: holds credits, then charges once", async () => {
    const { db } = database;
    const tenantId = await seedTenant(db);
    const { caller: root, record } = await seedCaller(db, tenantId, { spendLimitCreditMicros: 25_000_000 });
    const { caller: child } = await seedCaller(db, tenantId, { spendLimitCreditMicros: 12_000_000 }, record);
    const open = (caller: Caller, changes: Partial<SessionRequest> = {}) =>
      openUsageSession(db, sessionRequest(caller, changes), caller);
    const grant = (amount: number) => seedMovement(db, tenantId, { amount, reference: "a" });
    expect(await open(child)).toEqual({ kind: "insufficient_credits" });
    expect(await grant(100_000_000)).toEqual({ kind: "written" });
    expect(await grant(100_000_000)).toEqual({ kind: "repeated" });
    expect(await grant(100_000_001)).toEqual({ kind: "reference_used" });
    const first = sessionRequest(child);
    const opened = await openUsageSession(db, first, child);
    expect(opened).toMatchObject({ kind: "written", responseFields: { reservedCreditMicros: 10_000_000 } });
    expect(await open(child)).toEqual({
      kind: "spend_limit_exceeded",
      limitedBy: "self",
    });
    expect(await open(child, { minSeconds: 1 })).toMatchObject({
      kind: "written",
      responseFields: { reservedCreditMicros: 2_000_000 },
    });
    expect(await open(root)).toMatchObject({ kind: "written" });
    expect(await open(root)).toEqual({
      kind: "spend_limit_exceeded",
      limitedBy: "self",
    });
    expect(await reportUsage(db, first.id, { used: 3_000_000, leaseSeconds: 60 }, root)).toMatchObject({
      kind: "written",
      session: { status: "started", usedCreditMicros: 3_000_000, mustEnd: false },
    });
    expect(await reportUsage(db, first.id, { used: 1, leaseSeconds: 60 }, root)).toMatchObject({
      session: { usedCreditMicros: 3_000_000 },
    });
    const release = { isEngine: true, used: 4_000_000, reason: "done" };
    const ended = await releaseSession(db, first.id, release, root, operatorOrigin());
    expect(ended).toMatchObject({
      kind: "written",
      hasEnded: true,
      session: { status: "released", usedCreditMicros: 4_000_000 },
    });
    const again = await releaseSession(db, first.id, release, root, operatorOrigin());
    expect(again).toEqual({ ...ended, hasEnded: false } as never);
    expect(await releaseSession(db, first.id, { ...release, used: 1 }, root, operatorOrigin())).toMatchObject({
      kind: "session_closed",
    });
    expect(await findCreditBalance(db, tenantId, "live")).toMatchObject({
      balanceCreditMicros: 96_000_000,
      reservedCreditMicros: 12_000_000,
      lifetimeUsedCreditMicros: 4_000_000,
    });
    await db.client`update usage_sessions set expires_at = now() - interval '1 second' where ended_at is null`;
    expect(await sweepSessions(db, null, operatorOrigin())).toBe(2);
    expect(await findCreditBalance(db, tenantId, "live")).toMatchObject({
      balanceCreditMicros: 96_000_000,
      reservedCreditMicros: 0,
    });
  });

  test("the reference of a refund, sent again with the same refund: repeated; with another session, amount or kind: refused as used", async () => {
    const { db } = database;
    const tenant = await seedTenant(db, { live: 100 * PRICE });
    const { caller } = await seedCaller(db, tenant);
    const sessions = [await seedSession(db, caller), await seedSession(db, caller)];
    const release = { isEngine: true, used: 4 * PRICE, reason: null };
    for (const id of sessions) await releaseSession(db, id, release, caller, operatorOrigin());
    const [sessionId = null, other = null] = sessions;
    const refund = { kind: "adjust", amount: PRICE, reference: "r", sessionId } as const;
    const move = async (change: Parameters<typeof seedMovement>[2]) =>
      (await seedMovement(db, tenant, { ...refund, ...change })).kind;
    expect([await move({}), await move({})]).toEqual(["written", "repeated"]);
    for (const change of [{ sessionId: other }, { amount: 1 }, { kind: "grant", sessionId: null }] as const) {
      expect([change, await move(change)]).toEqual([change, "reference_used"]);
    }
    // A reference belongs to its environment.
    expect(await move({ kind: "grant", sessionId: null, environment: "test" })).toBe("written");
    expect(await findCreditBalance(db, tenant, "live")).toMatchObject({ lifetimeUsedCreditMicros: 7 * PRICE });
  });

  test("a session, after the clock was set back: does not end before its start", async () => {
    const { db } = database;
    const tenant = await seedTenant(db, { live: 20_000_000 });
    const { caller } = await seedCaller(db, tenant);
    const [released, swept] = [await seedSession(db, caller), await seedSession(db, caller)];
    for (const id of [released, swept]) await reportUsage(db, id, { used: 2, leaseSeconds: 60 }, caller);
    await db.client`update usage_sessions set started_at = now() + interval '2 hours' where tenant_id = ${tenant}`;
    const release = { isEngine: true, used: null, reason: null };
    const outcome = await releaseSession(db, released, release, caller, operatorOrigin());
    if (outcome.kind !== "written") throw new Error(outcome.kind);
    expect(outcome.session).toMatchObject({ activeSeconds: 0, billedCreditMicros: 2 });
    await db.client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${swept}`;
    expect(await sweepSessions(db, tenant, operatorOrigin())).toBe(1);
    const rows = await db.client`select from usage_sessions where tenant_id = ${tenant} and ended_at = started_at`;
    expect(rows.length).toBe(2);
  });
});

test("balances, read concurrently: each caller gets the balance of its account", async () => {
  const { db } = database;
  const [one, other] = [await seedTenant(db, { live: 1, test: 2 }), await seedTenant(db, { live: 3, test: 4 })];
  const owners = [one, other, one, "ten_unknown" as TenantId, other, one].flatMap((owner) =>
    (["live", "test"] as const).map((environment) => ({ owner, environment })),
  );
  const balances = await Promise.all(owners.map(({ owner, environment }) => findCreditBalance(db, owner, environment)));
  const amounts = balances.map((balance) => String(balance?.balanceCreditMicros));
  expect(amounts.join(" ")).toBe("1 2 3 4 1 2 undefined undefined 3 4 1 2");
  for (const [index, { owner, environment }] of owners.entries()) {
    const balance = balances[index];
    if (balance) expect(balance).toMatchObject({ tenantId: owner, environment });
  }
});
