/** The queue of calls that wait for a slot: the request that gets the next slot. */
import { expect, test } from "bun:test";
import { RETRY_MS } from "@realtime-avatar/domain/calls/queue";
import { callRequest, readyAvatar, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { connectTo, IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { fixture, serviceDatabase } from "@realtime-avatar/testing/fixture";
import { inOneBatch } from "@realtime-avatar/testing/postgres/batching";
import { urlAt } from "@realtime-avatar/testing/postgres/clock";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import type { Caller } from "../callers/callers.ts";
import type { Db } from "../connection/pool.ts";
import { type CallRequest, type OpenCallOutcome, openCall, type QueuePlace, releaseCall } from "./calls.ts";

const database = await serviceDatabase();
const { client } = database.db;
await mutate(database.db);
// A ticket ends when it is not polled for some seconds. In these tests, time passes only by `wait`, even on a slow
// machine.
const { serviceUrl: url = "" } = database;
const stopped = IS_ONE_DATABASE ? await urlAt({ ...database, url }, new Date().toISOString()) : null;
const db = stopped ? { ...(await fixture(connectTo({ url: stopped }))), client } : database.db;

/** One worker, all of whose slots are in use. */
const full = async (slots = 1) => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await client`delete from call_tickets`;
  await sync(db, "worker", { slots });
  const busy = await tenant();
  for (let slot = 0; slot < slots; slot++) await seedCall(db, busy.caller, busy.avatarId);
};
const tenant = async (environment: "live" | "test" = "live") => {
  const tenantId = await seedTenant(db, { live: 1_000_000, test: 1_000_000 });
  const { caller, record } = await seedCaller(db, tenantId, { environment });
  const avatarId = await readyAvatar(db, caller);
  const start = (changes: Partial<CallRequest> = {}, pool: Db = db) =>
    openCall(pool, callRequest(caller, avatarId, changes), caller, null);
  return { tenantId, caller, record, avatarId, start };
};

/** Lets time pass for all tickets. */
const wait = (ms = RETRY_MS) =>
  client`update call_tickets set polled_at = polled_at - make_interval(secs => ${ms / 1000}::float8)`;
/** Frees `count` slots that are in use. */
const free = (count = 1) => client`
  update fleet.avatar_slots set session_id = null, tenant_id = null
  where n in (select n from fleet.avatar_slots where session_id is not null order by n limit ${count})`;
const placeOf = (outcome: OpenCallOutcome): QueuePlace => {
  if (outcome.kind !== "queued") throw new Error(`not queued: ${outcome.kind}`);
  return outcome.place;
};

test("a request without a ticket, sent again: takes over its ticket, and keeps its place", async () => {
  await full();
  const [one, other] = [await tenant(), await tenant()];
  const first = placeOf(await one.start());
  expect(first).toEqual({ ticketId: expect.stringMatching(/^tkt_/), position: 1, size: 1 });
  expect(placeOf(await other.start())).toMatchObject({ position: 2, size: 2 });
  for (let poll = 0; poll < 4; poll++) {
    await wait();
    expect(placeOf(await one.start())).toEqual({ ...first, size: 2 });
    expect(placeOf(await other.start())).toMatchObject({ position: 2, size: 2 });
  }
  await wait();
  await free();
  expect((await other.start()).kind).toBe("queued");
  expect((await one.start()).kind).toBe("written");
  expect(await client`select 1 from call_tickets where id = ${first.ticketId}`).toHaveLength(0);
});

test("two users of one key with the same request: two tickets, and each gets its turn", async () => {
  await full(2);
  const one = await tenant();
  const first = placeOf(await one.start());
  const second = placeOf(await one.start());
  expect(second).toMatchObject({ position: 2, size: 2 });
  expect(second.ticketId).not.toBe(first.ticketId);
  await wait();
  expect(placeOf(await one.start()).ticketId).toBe(first.ticketId);
  expect(placeOf(await one.start()).ticketId).toBe(second.ticketId);
  await wait();
  await free();
  expect((await one.start()).kind).toBe("written");
  expect(placeOf(await one.start())).toEqual({ ...second, position: 1, size: 1 });
});

test("a request that names its ticket: keeps its place; a request that names the ticket of another key: gets a new ticket", async () => {
  await full();
  const [one, other] = [await tenant(), await tenant()];
  const { ticketId } = placeOf(await one.start());
  expect(placeOf(await one.start({ ticketId })).ticketId).toBe(ticketId);
  expect(placeOf(await other.start({ ticketId })).ticketId).not.toBe(ticketId);
  const { caller: colleague } = await seedCaller(db, one.tenantId);
  const ofColleague = await openCall(db, callRequest(colleague, one.avatarId, { ticketId }), colleague, null);
  expect(placeOf(ofColleague).ticketId).not.toBe(ticketId);
});

test("a ticket: released only by its key and the key's ancestors", async () => {
  await full();
  const [one, other] = [await tenant(), await tenant()];
  const of = (caller: Caller) => openCall(db, callRequest(caller, one.avatarId), caller, null);
  const { caller: child, record } = await seedCaller(db, one.tenantId, {}, one.record);
  const { caller: colleague } = await seedCaller(db, one.tenantId);
  const { caller: below } = await seedCaller(db, one.tenantId, {}, record);
  const { caller: inTest } = await seedCaller(db, one.tenantId, { environment: "test" });
  const { ticketId } = placeOf(await of(child));
  const release = (caller: Caller, id = ticketId) =>
    releaseCall(db, { kind: "ticket", id }, { reason: null }, caller, operatorOrigin(), null);
  const isThere = async () => (await client`select 1 from call_tickets where id = ${ticketId}`).length === 1;
  for (const caller of [other.caller, colleague, below, inTest]) await release(caller);
  expect(await isThere()).toBe(true);
  await release(one.caller);
  expect(await isThere()).toBe(false);
  const { ticketId: own } = placeOf(await of(child));
  await release(child, own);
  expect(await client`select 1 from call_tickets where id = ${own}`).toHaveLength(0);
});

test("a ticket of a test key, released by its live ancestor: stays", async () => {
  await full();
  const one = await tenant();
  const { caller: inTest } = await seedCaller(db, one.tenantId, { environment: "test" }, one.record);
  const avatarId = await readyAvatar(db, inTest);
  const { ticketId } = placeOf(await openCall(db, callRequest(inTest, avatarId), inTest, null));
  const isThere = async () => (await client`select 1 from call_tickets where id = ${ticketId}`).length === 1;
  for (const [caller, stays] of [
    [one.caller, true],
    [inTest, false],
  ] as const) {
    await releaseCall(db, { kind: "ticket", id: ticketId }, { reason: null }, caller, operatorOrigin(), null);
    expect(await isThere()).toBe(stays);
  }
});

test("a ticket that three requests of a batch name: the first has its place; the others are behind the other tenant", async () => {
  await full(2);
  const [one, other] = [await tenant(), await tenant()];
  const { ticketId } = placeOf(await one.start());
  const { ticketId: ticketOfOther } = placeOf(await other.start());
  await free(2);
  const batch = inOneBatch(db) as typeof db;
  const named = [1, 2, 3].map(() => callRequest(one.caller, one.avatarId, { ticketId }));
  const outcomes = await Promise.all(named.map((request) => openCall(batch, request, one.caller, null)));
  expect(outcomes.map(({ kind }) => kind)).toEqual(["written", "queued", "queued"]);
  expect(outcomes.slice(1).map((outcome) => placeOf(outcome).position)).toEqual([2, 3]);
  expect((await other.start({ ticketId: ticketOfOther })).kind).toBe("written");
});

test("a ticket without polls: ends after six seconds, and delays no other request", async () => {
  await full();
  const [one, other] = [await tenant(), await tenant()];
  await one.start();
  await wait(3 * RETRY_MS);
  await free();
  expect((await other.start()).kind).toBe("written");
});

test("a request with other metadata, or for another avatar: does not take over the ticket", async () => {
  await full();
  const one = await tenant();
  const { ticketId } = placeOf(await one.start());
  await wait();
  expect(placeOf(await one.start({ metadata: { user: "2" } })).ticketId).not.toBe(ticketId);
  const second = await readyAvatar(db, one.caller);
  const request = callRequest(one.caller, second);
  expect(placeOf(await openCall(db, request, one.caller, null)).ticketId).not.toBe(ticketId);
});

test("a tenant with many tickets and a tenant with few: served in turns", async () => {
  await full(8);
  const [many, few] = [await tenant(), await tenant()];
  for (let user = 0; user < 6; user++) await many.start({ metadata: { user: `${user}` } });
  for (let user = 0; user < 2; user++) await few.start({ metadata: { user: `${user}` } });
  await wait();
  expect(placeOf(await few.start({ metadata: { user: "0" } }))).toMatchObject({ position: 2, size: 8 });
  expect(placeOf(await few.start({ metadata: { user: "1" } }))).toMatchObject({ position: 4, size: 8 });
  expect(placeOf(await many.start({ metadata: { user: "5" } }))).toMatchObject({ position: 8, size: 8 });
  await wait();
  await free(4);
  const kinds: string[] = [];
  for (let user = 5; user >= 0; user--) kinds.push((await many.start({ metadata: { user: `${user}` } })).kind);
  for (let user = 1; user >= 0; user--) kinds.push((await few.start({ metadata: { user: `${user}` } })).kind);
  expect(kinds).toEqual(["queued", "queued", "queued", "queued", "written", "written", "written", "written"]);
});

test("a batch, compared with its requests one by one: the same outcomes", async () => {
  const outcomesOf = async (isBatch: boolean): Promise<object[]> => {
    await full(3);
    const one = await tenant();
    await client`update credit_accounts set max_concurrent_sessions = 2 where tenant_id = ${one.tenantId}`;
    for (let user = 0; user < 5; user++) await one.start({ metadata: { user: `${user}` } });
    await wait();
    await free(3);
    const start = (user: number | null) => {
      const metadata = user === null ? {} : { user: `${user}` };
      return (pool: typeof db) => openCall(pool, callRequest(one.caller, one.avatarId, { metadata }), one.caller, null);
    };
    const starts = [4, 1, null, 3, 0, null, 2, 1].map(start);
    const batch = inOneBatch(db);
    const outcomes = isBatch ? await Promise.all(starts.map((work) => work(batch as typeof db))) : [];
    if (!isBatch) for (const work of starts) outcomes.push(await work(db));
    return outcomes.map((outcome) => (outcome.kind === "queued" ? { kind: "queued" } : { kind: outcome.kind }));
  };
  const oneByOne = await outcomesOf(false);
  expect(oneByOne.map((one) => (one as { kind: string }).kind)).toEqual([
    ...["queued", "written", "queued", "queued", "written"],
    ...["concurrency_limit_reached", "concurrency_limit_reached", "concurrency_limit_reached"],
  ]);
  expect(await outcomesOf(true)).toEqual(oneByOne);
});

test("pollers of three tenants, 1, 5 and 20: each is served, and none waits for all requests of another tenant", async () => {
  await full(1);
  const tenants = await Promise.all([1, 5, 20].map(async (pollers) => ({ ...(await tenant()), pollers, served: 0 })));
  const order: number[] = [];
  for (let round = 0; round < 200 && tenants.some(({ pollers, served }) => served < pollers); round++) {
    await free();
    const all = tenants.flatMap((one, at) => Array.from({ length: one.pollers - one.served }, () => ({ one, at })));
    const shuffled = all.sort(() => Math.random() - 0.5);
    const batch = inOneBatch(db);
    const outcomes = await Promise.all(shuffled.map(({ one }) => one.start({}, batch)));
    for (const [index, { one, at }] of shuffled.entries()) {
      if (outcomes[index]?.kind !== "written") continue;
      order.push(at);
      one.served++;
    }
    await wait();
  }
  expect(tenants.map(({ served }) => served)).toEqual([1, 5, 20]);
  expect(order.lastIndexOf(0)).toBeLessThan(4);
  expect(order.lastIndexOf(1)).toBeLessThan(14);
});

test("a test that requests to be queued: queued twice although slots are free, and delays no other request", async () => {
  await full();
  await free();
  const [test, live] = [await tenant("test"), await tenant()];
  const asked = { testOutcome: "queued" as const };
  const first = placeOf(await test.start(asked));
  await wait();
  expect(placeOf(await test.start(asked))).toEqual(first);
  expect((await live.start()).kind).toBe("written");
  await wait();
  // From now on, it waits for a slot like any other request.
  expect(placeOf(await test.start(asked)).ticketId).toBe(first.ticketId);
  await free();
  await wait();
  expect((await test.start(asked)).kind).toBe("written");
});

test("a test that requests the limit, or a short hold: gets it", async () => {
  await full();
  await free();
  const one = await tenant("test");
  expect(await one.start({ testOutcome: "concurrency_limit_reached" })).toMatchObject({ limit: 1 });
  const started = await one.start({ testOutcome: "out_of_credits" });
  expect(started).toMatchObject({ kind: "written", responseFields: { reservedCreditMicros: 10 } });
  const [row] = await client`select max_seconds as seconds from calls where tenant_id = ${one.tenantId}`;
  expect(row?.["seconds"]).toBeGreaterThan(10);
});
