/** Events of reached limits: low and exhausted credits, spend caps, and keys that expire. */
import { describe, expect, test } from "bun:test";
import { newId, type SessionId } from "@realtime-avatar/domain/id";
import { PRICE, seedCaller, seedMovement, seedSession, sessionRequest } from "@realtime-avatar/testing/credits";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { session } from "@realtime-avatar/testing/database";
import { fixture, serviceDatabase } from "@realtime-avatar/testing/fixture";
import { ofOneDatabase } from "@realtime-avatar/testing/postgres/one-database";
import { untilWaiting } from "@realtime-avatar/testing/postgres/waits";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { deliveredTypes, readEventTypes, seedEndpoint } from "@realtime-avatar/testing/webhooks/events";
import { openUsageSessions } from "../../generated/functions.ts";
import { findApiKey, revokeApiKey, updateApiKey } from "../api-keys/api-keys.ts";
import { auditEvent } from "../audit/audit-events.ts";
import { type Caller, findCredential } from "../callers/callers.ts";
import { changeLowThreshold } from "../credits/credits.ts";
import { openUsageSession, releaseSession, sweepSessions } from "../credits/usage-sessions.ts";
import { FUNCTIONS_SCHEMA } from "../functions/schema.ts";
import { announceExpiringKeys } from "./expiring-keys.ts";

const database = await serviceDatabase();
const { db } = database;
await mutate(db);
const { client } = db;

/** A tenant with `seconds` of live credits, a key, and an endpoint for events of credits and keys in live. */
const world = async (seconds = 100, key: Parameters<typeof seedCaller>[2] = {}) => {
  const tenantId = await seedTenant(db, { live: seconds * PRICE, test: seconds * PRICE });
  const endpoint = await seedEndpoint(db, tenantId, { events: ["credits.*", "api_key.*"] });
  const { caller, record } = await seedCaller(db, tenantId, key);
  return { tenantId, endpoint, caller, record };
};
const open = (caller: Caller, seconds: number): Promise<SessionId> =>
  seedSession(db, caller, { maxSeconds: seconds, minSeconds: seconds });
const release = (caller: Caller, id: SessionId, seconds = 0) =>
  releaseSession(db, id, { isEngine: true, used: seconds * PRICE, reason: null }, caller, operatorOrigin());
/** Requests a session above the available credits, and returns the outcome. */
const ask = async (caller: Caller, seconds = 100_000): Promise<string> => {
  const { now, requestId } = operatorOrigin();
  const request = {
    ...{ id: newId("ses", now, random), environment: caller.environment, avatarId: null, maxSeconds: seconds },
    ...{ minSeconds: seconds, price: PRICE, startSeconds: 60, metadata: {}, entryId: newId("ent", now, random) },
    ...{ requestId, createdAt: now },
  };
  return (await openUsageSession(db, request, caller)).kind;
};
const setThreshold = (
  { tenantId, caller }: { tenantId: Caller["tenantId"]; caller: Caller | null },
  seconds: number | null,
  environment: "live" | "test" = "live",
) => {
  const change = { tenantId, environment, lowThreshold: seconds === null ? null : seconds * PRICE };
  const target = { tenantId, id: tenantId, environment };
  const event = auditEvent("credits.limit_changed", target, operatorOrigin(), ["lowThresholdCreditMicros"]);
  return changeLowThreshold(db, change, caller, event);
};

describe("low credits", () => {
  const lowOf = async (tenantId: Caller["tenantId"]): Promise<number> =>
    (await deliveredTypes(db, tenantId, tenantId)).filter((type) => type === "credits.low").length;

  test("credits that fall below the threshold: one event; after a rise above it: another one", async () => {
    const one = await world(100);
    const { tenantId, caller } = one;
    expect(await setThreshold(one, 50)).toEqual({ kind: "written" });
    const first = await open(caller, 50);
    // Exactly the threshold is not below it.
    expect(await lowOf(tenantId)).toBe(0);
    const second = await open(caller, 1);
    await open(caller, 10);
    expect(await lowOf(tenantId)).toBe(1);
    // Freed credits raise the available credits: from 49 to 89.
    await release(caller, second, 1);
    await open(caller, 1);
    expect(await lowOf(tenantId)).toBe(1);
    await release(caller, first, 0);
    await open(caller, 30);
    expect(await lowOf(tenantId)).toBe(1);
    await open(caller, 30);
    expect(await lowOf(tenantId)).toBe(2);
    await seedMovement(db, tenantId, { amount: 100 * PRICE });
    await seedMovement(db, tenantId, { kind: "void", amount: 100 * PRICE });
    expect(await lowOf(tenantId)).toBe(3);
  });

  test("a batch whose holds cross the threshold: one event", async () => {
    const one = await world(100);
    await setThreshold(one, 95);
    await Promise.all(Array.from({ length: 20 }, () => open(one.caller, 1)));
    expect(await lowOf(one.tenantId)).toBe(1);
  });

  test("a threshold, set above the available credits: an event at once; set again, or removed: no event", async () => {
    const one = await world(100);
    const { tenantId } = one;
    await setThreshold(one, 200);
    await setThreshold(one, 300);
    await setThreshold(one, 200, "test");
    await setThreshold(one, 50);
    await setThreshold(one, null);
    await open(one.caller, 90);
    expect(await readEventTypes(db, tenantId)).toEqual([
      expect.stringMatching(/^api_key\.created /),
      `credits.limit_changed ${tenantId} 1`,
      `credits.low ${tenantId} 2`,
      ...[3, 4, 5].map((at) => `credits.limit_changed ${tenantId} ${at}`),
    ]);
  });

  test("the threshold, changed by a key that has changed: stale; of a tenant without an account: not found", async () => {
    const { tenantId, caller } = await world();
    expect(await setThreshold({ tenantId, caller: { ...caller, version: 7 } }, 1)).toEqual({ kind: "stale" });
    expect(await setThreshold({ tenantId: newId("ten", new Date(), random), caller: null }, 1)).toEqual({
      kind: "not_found",
    });
    expect(await deliveredTypes(db, tenantId, tenantId)).toEqual([]);
  });

  ofOneDatabase(
    "batches of the same tenants in two environments, while one tenant has another event: locked in one order",
    async () => {
      const tenants = [await world(100), await world(100), await world(100)];
      const ids = tenants.map(({ tenantId }) => tenantId);
      await client`update credit_accounts set low_threshold = 95 * ${PRICE}::bigint where tenant_id in ${client(ids)}`;
      for (const id of ids) await seedEndpoint(db, id, { environment: "test", events: ["credits.*"] });
      const openAll = (callers: readonly Caller[]) =>
        openUsageSessions(db, {
          ...{ callers, callerAt: callers.map((_, at) => at + 1), calls: null, claims: null, wait: false },
          requests: callers.map((caller) => sessionRequest(caller)),
        });
      const holdEvent = async (id: string) => {
        const holder = await fixture(session(database.url));
        const schema = holder.client.unsafe(FUNCTIONS_SCHEMA);
        await holder.client`begin`;
        await holder.client`select ${schema}.emit_events(array[row(${id}, 'live', 'credits.low', ${id}, now())::${schema}.event])`;
        return holder;
      };
      const [first, last] = [await holdEvent(ids[0] ?? ""), await holdEvent(ids[2] ?? "")];
      const inLive = openAll(tenants.map(({ caller }) => caller));
      await untilWaiting(db, 1, first);
      await first.client`commit`;
      await untilWaiting(db, 1, last);
      const inTest = Promise.all(
        ids.slice(0, 2).map(async (id) => (await seedCaller(db, id, { environment: "test" })).caller),
      ).then(openAll);
      await untilWaiting(db, 2);
      await last.client`commit`;
      const outcomes = [...(await inLive), ...(await inTest)];
      expect(outcomes.map(({ kind }) => kind)).toEqual(Array(5).fill("written"));
      expect(await Promise.all(ids.map(lowOf))).toEqual([3, 2, 2]);
    },
  );
});

describe("exhausted credits", () => {
  test("sessions that are refused for lack of credits: one event an hour, although no session is opened", async () => {
    const { tenantId, caller } = await world(10);
    const kinds = await Promise.all(Array.from({ length: 20 }, () => ask(caller)));
    expect(new Set(kinds)).toEqual(new Set(["insufficient_credits"]));
    expect(await deliveredTypes(db, tenantId, tenantId)).toEqual(["credits.exhausted"]);
    await client`update credit_accounts set exhausted_at = now() - interval '59 minutes' where tenant_id = ${tenantId}`;
    await ask(caller);
    expect(await deliveredTypes(db, tenantId, tenantId)).toHaveLength(1);
    await client`update credit_accounts set exhausted_at = now() - interval '60 minutes' where tenant_id = ${tenantId}`;
    await ask(caller);
    expect(await deliveredTypes(db, tenantId, tenantId)).toHaveLength(2);
  });

  test("a session that is refused by a cap: no event; without an endpoint: nothing is written", async () => {
    const capped = await world(10, { spendLimitCreditMicros: 1 });
    expect(await ask(capped.caller)).toBe("spend_limit_exceeded");
    expect(await deliveredTypes(db, capped.tenantId, capped.tenantId)).toEqual([]);
    const one = await world(10);
    await client`update webhook_endpoints set events = '{avatar.*}' where id = ${one.endpoint}`;
    expect(await ask(one.caller)).toBe("insufficient_credits");
    const rows =
      await client`select from credit_accounts where tenant_id = ${one.tenantId} and exhausted_at is not null`;
    expect(rows).toHaveLength(0);
  });

  test("the look-up of a caller: returns whether a refusal for lack of credits must be announced", async () => {
    const { tenantId, endpoint, caller } = await world(10);
    const isDue = async () =>
      (await findCredential(db, caller.credentialKeyId, null, undefined, "headroom"))?.caller.headroom
        ?.announcesExhaustion;
    expect(await isDue()).toBe(true);
    await ask(caller);
    expect(await isDue()).toBe(false);
    await client`update credit_accounts set exhausted_at = now() - interval '1 hour' where tenant_id = ${tenantId}`;
    expect(await isDue()).toBe(true);
    await client`update webhook_endpoints set events = '{credits.low}' where id = ${endpoint}`;
    expect(await isDue()).toBe(false);
  });
});

describe("spend caps", () => {
  const reached = async ({ tenantId, caller }: { tenantId: Caller["tenantId"]; caller: Caller }): Promise<number> =>
    (await deliveredTypes(db, tenantId, caller.id)).filter((type) => type === "api_key.spend_limit_reached").length;
  /** Opens and ends a session that is charged `seconds`. */
  const spend = async (caller: Caller, seconds: number) => {
    const id = await open(caller, seconds);
    await release(caller, id, seconds);
    return id;
  };
  const setCap = async (caller: Caller, seconds: number | null) => {
    const found = await findApiKey(db, caller.tenantId, caller.id);
    if (!found) throw new Error("no key");
    const record = { ...found, spendLimitCreditMicros: seconds === null ? null : seconds * PRICE };
    const by = (await findCredential(db, caller.credentialKeyId))?.caller as Caller;
    await updateApiKey(db, { target: found, record, changedFields: ["spendLimitCreditMicros"] }, by, operatorOrigin());
    return (await findCredential(db, caller.credentialKeyId))?.caller as Caller;
  };

  test("a key that is charged 80 % and then 100 % of its cap: one event each; a refund repeats no event", async () => {
    const one = await world(1000, { spendLimitCreditMicros: 100 * PRICE });
    await spend(one.caller, 79);
    // Held credits do not count.
    const held = await open(one.caller, 21);
    expect(await reached(one)).toBe(0);
    await release(one.caller, held, 0);
    const at80 = await spend(one.caller, 1);
    expect(await reached(one)).toBe(1);
    await seedMovement(db, one.tenantId, { kind: "adjust", amount: PRICE, sessionId: at80 });
    await spend(one.caller, 10);
    expect(await reached(one)).toBe(1);
    await spend(one.caller, 11);
    expect(await reached(one)).toBe(2);
  });

  test("a cap that is reached in one step: one event; after it was raised and lowered: another one", async () => {
    const one = await world(1000, { spendLimitCreditMicros: 100 * PRICE });
    await spend(one.caller, 100);
    expect(await reached(one)).toBe(1);
    let caller = await setCap(one.caller, 400);
    await spend(caller, 200);
    expect(await reached(one)).toBe(1);
    await spend(caller, 30);
    expect(await reached(one)).toBe(2);
    // With 330 of 340 spent, the end of the next session sends no event, because 80 % was announced. With a cap of 330,
    // the whole cap is spent.
    caller = await setCap(caller, 340);
    await spend(caller, 1);
    expect(await reached(one)).toBe(2);
    const last = await open(caller, 1);
    caller = await setCap(caller, 331);
    await release(caller, last, 0);
    expect(await reached(one)).toBe(3);
    caller = await setCap(caller, null);
    await spend(caller, 1);
    expect(await reached(one)).toBe(3);
  });

  test("a key that is renamed after its cap was announced: not announced again", async () => {
    const one = await world(1000, { spendLimitCreditMicros: 100 * PRICE });
    await spend(one.caller, 85);
    expect(await reached(one)).toBe(1);
    const record = { ...one.record, name: "another name" };
    const change = { target: one.record, record, changedFields: ["name"] };
    await updateApiKey(db, change, one.caller, operatorOrigin());
    const caller = (await findCredential(db, one.caller.credentialKeyId))?.caller as Caller;
    await spend(caller, 1);
    expect(await reached(one)).toBe(1);
  });

  test("an ancestor of spending keys: has its own event, in its environment", async () => {
    const one = await world(1000, { spendLimitCreditMicros: 100 * PRICE });
    const child = await seedCaller(db, one.tenantId, { spendLimitCreditMicros: 90 * PRICE }, one.record);
    await Promise.all([1, 2, 3, 4].map(() => spend(child.caller, 20)));
    expect(await reached(one)).toBe(1);
    expect(await reached({ ...one, caller: child.caller })).toBe(1);
  });

  test("a key whose sessions many concurrent sweeps end: announced once", async () => {
    const one = await world(1000, { spendLimitCreditMicros: 10 * PRICE });
    const ids = await Promise.all([1, 2, 3, 4, 5].map(() => open(one.caller, 2)));
    await client`
      update usage_sessions set used = reserved, started_at = now(), status = 'started', expires_at = now() - interval '1 s'
      where id in ${client(ids)}`;
    await Promise.all([1, 2, 3].map(() => sweepSessions(db, one.tenantId, operatorOrigin())));
    expect(await reached(one)).toBe(1);
  });
});

describe("keys that expire", () => {
  const DAY_MS = 86_400_000;
  const days = (count: number): Date => new Date(Date.now() + count * DAY_MS);
  /** A key that was created 100 days ago, by default, and expires in `left` days. */
  const expiring = async (
    { tenantId }: { tenantId: Caller["tenantId"] },
    left: number,
    { age = 100, environment = "live" as "live" | "test" } = {},
  ) => {
    const { record, caller } = await seedCaller(db, tenantId, { environment });
    await client`
      update api_keys set expires_at = ${days(left)}, created_at = ${days(-age)}
      where tenant_id = ${tenantId} and id = ${record.id}`;
    return { id: record.id, caller };
  };
  const announce = async () => {
    await Promise.all([1, 2, 3].map(() => announceExpiringKeys(db, 100)));
  };
  const told = async (tenantId: Caller["tenantId"], id: string): Promise<number> =>
    (await deliveredTypes(db, tenantId, id)).filter((type) => type === "api_key.expiring").length;
  const move = (id: string, left: number) => client`update api_keys set expires_at = ${days(left)} where id = ${id}`;

  test("a key that expires: announced seven days and one day before, once each, with three workers", async () => {
    const { tenantId } = await world();
    const { id } = await expiring({ tenantId }, 7.01);
    const counts: number[] = [];
    for (const left of [7.01, 6.99, 3, 1.01, 0.99, 0.5, -0.01]) {
      await move(id, left);
      for (const _ of [1, 2]) await announce();
      counts.push(await told(tenantId, id));
    }
    expect(counts).toEqual([0, 1, 1, 1, 2, 2, 2]);
  });

  test("a key whose first notice was missed: announced once", async () => {
    const { tenantId } = await world();
    const { id } = await expiring({ tenantId }, 0.5);
    await announce();
    expect(await told(tenantId, id)).toBe(1);
  });

  test("keys with a short life, ended keys, and keys of another environment or tenant: not announced", async () => {
    const { tenantId, caller } = await world();
    const other = await seedTenant(db);
    const parent = await seedCaller(db, tenantId);
    const child = await seedCaller(db, tenantId, {}, parent.record);
    await move(child.record.id, 5);
    await client`update api_keys set created_at = ${days(-100)} where id = ${child.record.id}`;
    await revokeApiKey(db, parent.record, { version: null }, caller, operatorOrigin());
    const keys = [
      // Keys with a life of two days and of half a day.
      ...[await expiring({ tenantId }, 1.5, { age: 0.5 }), await expiring({ tenantId }, 0.4, { age: 0.1 })],
      ...[await expiring({ tenantId }, 5, { environment: "test" }), await expiring({ tenantId: other }, 5)],
      { id: child.record.id },
    ];
    await announce();
    expect(await Promise.all(keys.map(({ id }) => told(tenantId, id)))).toEqual([0, 0, 0, 0, 0]);
    expect(await readEventTypes(db, other)).toEqual([]);
    // The first key now has one day left.
    await move(keys[0]?.id ?? "", 0.9);
    await announce();
    expect(await told(tenantId, keys[0]?.id ?? "")).toBe(1);
    // An endpoint of the other environment, added now, gets the event of its key.
    await seedEndpoint(db, tenantId, { environment: "test", events: ["api_key.*"] });
    await announce();
    expect(await told(tenantId, keys[2]?.id ?? "")).toBe(1);
  });

  test("a key with another expiry: announced again", async () => {
    const { tenantId, caller } = await world();
    const { id } = await expiring({ tenantId }, 5);
    await announce();
    const change = async (left: number) => {
      const found = await findApiKey(db, tenantId, id as Caller["id"]);
      if (!found) throw new Error("no key");
      const record = { ...found, expiresAt: days(left) };
      return updateApiKey(db, { target: found, record, changedFields: ["expiresAt"] }, caller, operatorOrigin());
    };
    expect((await change(30)).kind).toBe("written");
    await announce();
    expect(await told(tenantId, id)).toBe(1);
    await change(6);
    await announce();
    expect(await told(tenantId, id)).toBe(2);
  });
});
