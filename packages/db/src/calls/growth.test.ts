/** Growing holds of calls: the moments and amounts of growth, the caps, and the end of such calls. */
import { describe, expect, test } from "bun:test";
import type { CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import { HOLD_GROWTH, MAX_CALL_SECONDS } from "@realtime-avatar/domain/calls/limits";
import { GROWTH } from "@realtime-avatar/domain/calls/worker-sync";
import type { SessionId } from "@realtime-avatar/domain/id";
import { ageCalls, callRequest, readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller, seedMovement } from "@realtime-avatar/testing/credits";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { session } from "@realtime-avatar/testing/database";
import { fixture, serviceDatabase } from "@realtime-avatar/testing/fixture";
import { untilWaiting } from "@realtime-avatar/testing/postgres/waits";
import { asOwner, operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { readEventTypes, seedEndpoint } from "@realtime-avatar/testing/webhooks/events";
import { auditEvent } from "../audit/audit-events.ts";
import { changeCallLimit, changeLowThreshold } from "../credits/credits.ts";
import { findCreditDrift, listKeysAboveCap } from "../credits/invariants.ts";
import { releaseSession } from "../credits/usage-sessions.ts";
import { openCall, releaseCall } from "./calls.ts";
import { endDueCalls, growHolds } from "./reconcile.ts";

const database = await serviceDatabase();
const { db } = database;
await mutate(db);
const { client } = db;

/** At a price of 1, a credit micro is a second. */
const DEFAULT_LIMIT = MAX_CALL_SECONDS;
const FEATURES = ["echo", GROWTH];
const grow = (limit = 100) => growHolds(db, limit, operatorOrigin());
const endDue = () => endDueCalls(db, 100, operatorOrigin());

type World = Awaited<ReturnType<typeof world>>;
/** A tenant with live credits, and a key: a child of one with the cap `rootCap`. Worker `one` has `features`. */
const world = async (credits: number, key: Partial<CreateApiKey> = {}, rootCap: number | null = null) => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await client`update calls set room = 'gone'`;
  const tenantId = await seedTenant(db, { live: credits });
  const root = await seedCaller(db, tenantId, { spendLimitCreditMicros: rootCap });
  const { caller, record } = await seedCaller(db, tenantId, key, root.record);
  const avatarId = await readyAvatar(db, root.caller);
  await sync(db, "one", { slots: 9, features: FEATURES });
  return { tenantId, root, caller, record, avatarId };
};

/** A call that has begun, which asks for `longest` seconds. */
const begin = async (
  { caller, avatarId }: Pick<World, "caller" | "avatarId">,
  longest = 7200,
  changes: Parameters<typeof seedCall>[3] = {},
): Promise<SessionId> => {
  const growth = { longestSeconds: longest, defaultLimit: DEFAULT_LIMIT };
  const id = await seedCall(db, caller, avatarId, { maxSeconds: 1800, growth, ...changes });
  await sync(db, "one", { slots: 9, features: FEATURES, calls: [report(id, "started", 1)] });
  return id;
};
const stateOf = async (id: SessionId) => {
  const [row] = await client`
    select reserved::integer as held, session.used::integer as used, session.reason, session.status,
      (select count(*)::integer from credit_entries where session_id = session.id and kind = 'hold') as entries
    from usage_sessions session where id = ${id}`;
  return row as { held: number; used: number; reason: string | null; status: string; entries: number };
};
const heldOf = async (id: SessionId): Promise<number> => (await stateOf(id)).held;
const verify = async ({ tenantId }: Pick<World, "tenantId">): Promise<void> =>
  expect(await findCreditDrift(db, tenantId, 10)).toEqual([]);

describe("the growth of a hold", () => {
  test("a call of two hours: holds 1800 seconds, grows by 600 when fewer than 300 are left, and informs its worker", async () => {
    const one = await world(100_000);
    const id = await begin(one);
    expect(await grow()).toBe(0);
    await ageCalls(db, [id], 1800 - HOLD_GROWTH.aheadSeconds - 20);
    expect(await grow()).toBe(0);
    await ageCalls(db, [id], 20);
    expect(await grow()).toBe(1);
    expect(await grow()).toBe(0);
    expect(await stateOf(id)).toMatchObject({ held: 2400, entries: 2, status: "started" });
    const listed = (max_seconds: number, used = 1510) =>
      sync(db, "one", {
        ...{ slots: 9, features: FEATURES },
        calls: [report(id, "started", used, { growth: { max_seconds } })],
      });
    const told = await listed(1800);
    const growth = { sessionId: id, generation: 1, mode: "avatar", maxSeconds: 2400, limit: "out_of_credits" };
    expect(told.grow).toEqual([{ ...growth, roomName: `rta-test-${id}` } as never]);
    expect((await listed(2400)).grow).toEqual([]);
    // A worker without growth does not report it.
    expect((await sync(db, "one", { slots: 9, calls: [report(id)] })).grow).toEqual([]);
    await verify(one);
  });

  test("a call of 24 hours: one entry for each step, ended and charged after exactly that time", async () => {
    const one = await world(200_000);
    const id = await begin(one, MAX_CALL_SECONDS);
    let used = 1;
    const step = 250;
    for (; used + step < MAX_CALL_SECONDS; used += step) {
      await ageCalls(db, [id], step);
      await grow();
      expect((await endDue()).ended).toBe(0);
    }
    expect(await stateOf(id)).toEqual({
      ...{ held: MAX_CALL_SECONDS, used: 1, reason: null, status: "started" },
      entries: 1 + (MAX_CALL_SECONDS - 1800) / HOLD_GROWTH.stepSeconds,
    });
    await ageCalls(db, [id], step + 10);
    expect(await grow()).toBe(0);
    expect((await endDue()).ended).toBe(1);
    expect(await stateOf(id)).toMatchObject({ used: MAX_CALL_SECONDS, reason: "session_cap", status: "released" });
    await verify(one);
  });

  test("less than a step is available: grows by the available credits, then ends for lack of credits at the end of its hold", async () => {
    const one = await world(1800 + 100);
    const id = await begin(one);
    await ageCalls(db, [id], 1600);
    expect(await grow()).toBe(1);
    expect(await heldOf(id)).toBe(1900);
    expect(await grow()).toBe(0);
    await ageCalls(db, [id], 310);
    expect((await endDue()).ended).toBe(1);
    expect(await stateOf(id)).toMatchObject({ held: 1900, used: 1900, reason: "out_of_credits" });
    await verify(one);
  });

  test("less than a minute is available: does not grow and writes nothing; after a grant: grows", async () => {
    const one = await world(1800 + HOLD_GROWTH.leastSeconds - 1);
    const id = await begin(one);
    await ageCalls(db, [id], 1600);
    expect(await grow()).toBe(0);
    expect(await stateOf(id)).toMatchObject({ held: 1800, entries: 1 });
    await seedMovement(db, one.tenantId, { amount: 1 });
    expect(await grow()).toBe(1);
    expect(await heldOf(id)).toBe(1800 + HOLD_GROWTH.leastSeconds);
    await verify(one);
  });

  test("a call whose remaining length is less than a step or a minute: grows by the rest, and ends at its requested length", async () => {
    const one = await world(10_000);
    const id = await begin(one, 1830);
    await ageCalls(db, [id], 1700);
    expect(await grow()).toBe(1);
    expect(await heldOf(id)).toBe(1830);
    expect(await grow()).toBe(0);
    await ageCalls(db, [id], 140);
    expect((await endDue()).ended).toBe(1);
    expect(await stateOf(id)).toMatchObject({ used: 1830, reason: "session_cap" });
    await verify(one);
  });

  test("a call in its last seconds, or before its start: does not grow", async () => {
    const one = await world(100_000);
    const id = await begin(one);
    await ageCalls(db, [id], 1800 - HOLD_GROWTH.lastSeconds + 1);
    expect(await grow()).toBe(0);
    const growth = { longestSeconds: 7200, defaultLimit: DEFAULT_LIMIT };
    const other = await seedCall(db, one.caller, one.avatarId, { maxSeconds: 60, growth });
    expect(await grow()).toBe(0);
    expect(await heldOf(other)).toBe(60);
  });

  test("seconds that do not count: do not make the hold grow", async () => {
    const one = await world(100_000);
    const id = await begin(one);
    await ageCalls(db, [id], 1600);
    await client`update calls set counts_from = null where session_id = ${id}`;
    expect(await grow()).toBe(0);
  });

  test("a call of at most 1800 seconds, and one of a worker without the feature: never grow", async () => {
    const one = await world(100_000);
    const short = await seedCall(db, one.caller, one.avatarId, { maxSeconds: 1800 });
    const later = await begin(one);
    await client`update fleet.avatar_workers set features = '{echo}'`;
    await sync(db, "one", { slots: 9, calls: [report(short), report(later)] });
    await ageCalls(db, [short, later], 1600);
    expect(await grow()).toBe(0);
  });

  test("a worker without the feature at the start: the call is granted 1800 seconds", async () => {
    const one = await world(100_000);
    await sync(db, "one", { slots: 9, features: ["echo"] });
    const growth = { longestSeconds: 7200, defaultLimit: DEFAULT_LIMIT };
    const opened = await openCall(
      db,
      callRequest(one.caller, one.avatarId, { maxSeconds: 1800, growth }),
      one.caller,
      null,
    );
    expect(opened).toMatchObject({
      kind: "written",
      responseFields: { reservedCreditMicros: 1800, longestSeconds: null },
    });
    await sync(db, "one", { slots: 9, features: FEATURES });
    const next = await openCall(
      db,
      callRequest(one.caller, one.avatarId, { maxSeconds: 1800, growth }),
      one.caller,
      null,
    );
    expect(next).toMatchObject({
      kind: "written",
      responseFields: { reservedCreditMicros: 1800, longestSeconds: 7200 },
    });
  });
});

describe("caps, keys and growth", () => {
  test.each([
    ["its own", { spendLimitCreditMicros: 1900 }, null],
    ["an ancestor's", {}, 1900],
  ] as const)("%s cap: the hold grows up to it", async (_, key, rootCap) => {
    const one = await world(100_000, key, rootCap);
    const id = await begin(one);
    await ageCalls(db, [id], 1600);
    expect(await grow()).toBe(1);
    expect(await heldOf(id)).toBe(1900);
    expect(await grow()).toBe(0);
    expect(await listKeysAboveCap(db, one.tenantId)).toEqual([]);
    await verify(one);
  });

  test("a cap that was lowered below the hold: does not grow, and the call ends", async () => {
    const one = await world(100_000);
    const id = await begin(one);
    await client`update api_keys set spend_limit_credit_micros = 1000 where id = ${one.root.record.id}`;
    await ageCalls(db, [id], 1600);
    expect(await grow()).toBe(0);
    expect((await endDue()).ended).toBe(1);
    expect(await stateOf(id)).toMatchObject({ held: 1800, reason: "key_ended" });
    await verify(one);
  });

  test.each([
    ["revoked", "revoked_at = now()"],
    ["expired", "expires_at = now()"],
  ])("an ancestor that is %s: does not grow", async (_, change) => {
    const one = await world(100_000);
    const id = await begin(one);
    await ageCalls(db, [id], 1600);
    await client.unsafe(`update api_keys set ${change} where id = '${one.root.record.id}'`);
    expect(await grow()).toBe(0);
    expect(await heldOf(id)).toBe(1800);
  });

  test("a key that is being revoked, or whose cap is being lowered: the hold does not grow, without a wait", async () => {
    const one = await world(100_000);
    const id = await begin(one);
    await ageCalls(db, [id], 1600);
    const holder = await fixture(session(database.url));
    await holder.run("begin", []);
    await holder.run("update api_keys set spend_limit_credit_micros = 1800 where id = $1", [one.root.record.id]);
    expect(await grow()).toBe(0);
    await holder.run("commit", []);
    expect(await grow()).toBe(0);
    expect(await heldOf(id)).toBe(1800);
  });

  test("a released call, or one that is marked to end: does not grow", async () => {
    const one = await world(100_000);
    const [released, marked] = [await begin(one), await begin(one)];
    await ageCalls(db, [released, marked], 1600);
    await releaseCall(db, { kind: "session", id: released }, { reason: null }, one.caller, operatorOrigin(), null);
    await client`update usage_sessions set must_end = true where id = ${marked}`;
    expect(await grow()).toBe(0);
    const engine = { isEngine: true, used: 1, reason: null };
    await releaseSession(db, released, engine, one.caller, operatorOrigin());
    await verify(one);
  });
});

describe("growth at once", () => {
  test("ten calls with a balance for three steps: the calls that end first grow, and the holds stay within the balance", async () => {
    const one = await world(10 * 1800 + 3 * HOLD_GROWTH.stepSeconds);
    await sync(db, "one", { slots: 12, features: FEATURES });
    const calls: SessionId[] = [];
    for (let at = 0; at < 9; at++) calls.push(await begin(one));
    // The last ids end first.
    for (const [at, id] of calls.entries()) await ageCalls(db, [id], 1560 + 5 * at);
    const grown = await Promise.all([1, 2, 3, 4].map(() => grow(4)));
    // Concurrent passes read the same four calls. The next pass reads the others.
    grown.push(await grow());
    // The balance includes 1,800 seconds of a tenth call, which are three of the six steps.
    expect(grown.reduce((sum, one) => sum + one, 0)).toBe(6);
    expect(await Promise.all(calls.map(heldOf))).toEqual([...Array(3).fill(1800), ...Array(6).fill(2400)]);
    await verify(one);
  });

  test("a growth that waits for the account during an open: uses the credits that remain after the open", async () => {
    const one = await world(1800 + 700);
    const id = await begin(one);
    await ageCalls(db, [id], 1600);
    const holder = await fixture(session(database.url));
    await holder.run("begin", []);
    await holder.run("select from credit_accounts where tenant_id = $1 for update", [one.tenantId]);
    const growing = grow();
    await untilWaiting(db, 1);
    await holder.run(
      "update credit_accounts set reserved = reserved + 500 where tenant_id = $1 and environment = 'live'",
      [one.tenantId],
    );
    await holder.run("commit", []);
    expect(await growing).toBe(1);
    expect(await heldOf(id)).toBe(2000);
  });

  test("calls that grow in one pass: slots are locked in the common order, without a deadlock", async () => {
    const one = await world(100_000);
    const calls = [await begin(one), await begin(one)];
    await ageCalls(db, calls, 1600);
    const slots = "select n from fleet.avatar_slots where session_id is not null order by worker_id, n";
    const holder = await fixture(session(database.url));
    await holder.run("begin", []);
    await holder.run(`${slots} limit 1 for update`, []);
    const growing = grow();
    await untilWaiting(db, 1);
    expect(await client.unsafe(`${slots} for update skip locked`)).toHaveLength(1);
    await holder.run("commit", []);
    expect(await growing).toBe(2);
    await verify(one);
  });

  test("a hold that grows while a pass ends its call: the call goes on", async () => {
    const one = await world(100_000);
    const id = await begin(one);
    await ageCalls(db, [id], 1810);
    const holder = await fixture(session(database.url));
    await holder.run("begin", []);
    await holder.run("select from calls where session_id = $1 for update", [id]);
    await holder.run("update usage_sessions set reserved = reserved + 600 where id = $1", [id]);
    // The pass skips a locked session, and reads a changed one again.
    expect((await endDue()).ended).toBe(0);
    await holder.run("commit", []);
    expect((await endDue()).ended).toBe(0);
  });
});

describe("events of growth", () => {
  test("less than the threshold is left: credits.low; too little to grow: credits.exhausted, once", async () => {
    const one = await world(1800 + 700);
    const endpoint = await seedEndpoint(db, one.tenantId, { events: ["credits.low", "credits.exhausted"] });
    const target = { tenantId: one.tenantId, id: one.tenantId, environment: "live" as const };
    const event = auditEvent("credits.limit_changed", target, operatorOrigin(), []);
    await changeLowThreshold(db, { tenantId: one.tenantId, environment: "live", lowThreshold: 300 }, null, event);
    const id = await begin(one);
    await ageCalls(db, [id], 1600);
    await grow();
    expect(await readEventTypes(db, one.tenantId)).toEqual([`credits.low ${one.tenantId} 1`]);
    await ageCalls(db, [id], 600);
    expect(await grow()).toBe(1);
    expect(await heldOf(id)).toBe(2500);
    for (let pass = 0; pass < 3; pass++) expect(await grow()).toBe(0);
    expect(await readEventTypes(db, one.tenantId)).toEqual([
      `credits.low ${one.tenantId} 1`,
      `credits.exhausted ${one.tenantId} 2`,
    ]);
    expect(endpoint).toStartWith("whe_");
  });
});

describe("the limit of a tenant", () => {
  const limitTo = (tenantId: World["tenantId"], maxSeconds: number | null) => {
    const event = auditEvent(
      "credits.limit_changed",
      { tenantId, id: tenantId, environment: "live" },
      operatorOrigin(),
      ["maxCallSeconds"],
    );
    return changeCallLimit(asOwner(db), { tenantId, maxSeconds }, event);
  };
  const openFor = (one: World, longestSeconds: number, defaultLimit = 1800) => {
    const request = callRequest(one.caller, one.avatarId, {
      maxSeconds: 1800,
      growth: { longestSeconds, defaultLimit },
    });
    return openCall(db, request, one.caller, null);
  };

  test("more seconds than the default or the tenant's maximum: refused, nothing written", async () => {
    const one = await world(100_000);
    expect(await openFor(one, 1801)).toEqual({ kind: "too_long", limit: 1800 });
    expect(await openFor(one, 3600, 3600)).toMatchObject({ kind: "written" });
    expect(await limitTo(one.tenantId, 7200)).toBe(true);
    expect(await openFor(one, 7200)).toMatchObject({ kind: "written" });
    expect(await openFor(one, 7201, MAX_CALL_SECONDS)).toEqual({ kind: "too_long", limit: 7200 });
    expect(await limitTo(one.tenantId, null)).toBe(true);
    expect(await openFor(one, 7200)).toEqual({ kind: "too_long", limit: 1800 });
    for (const seconds of [1799, MAX_CALL_SECONDS + 1]) {
      const write = client`update credit_accounts set max_call_seconds = ${seconds} where tenant_id = ${one.tenantId}`;
      expect(await write.catch((error) => error.constraint_name)).toBe("credit_accounts_max_call_seconds_check");
    }
    const [row] =
      await client`select reserved::integer from credit_accounts where tenant_id = ${one.tenantId} and environment = 'live'`;
    expect(row?.["reserved"]).toBe(3600);
  });
});
