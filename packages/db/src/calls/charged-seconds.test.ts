/** The charged seconds of a call: the time for which its worker saw both sides. */
import { describe, expect, test } from "bun:test";
import type { SessionId } from "@realtime-avatar/domain/id";
import { ageCalls, endLease, readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { findCreditDrift } from "../credits/invariants.ts";
import { FUNCTIONS_SCHEMA } from "../functions/schema.ts";
import { releaseCall } from "./calls.ts";
import { loseWorker } from "./fleet.ts";
import { endDueCalls, expireWorkers } from "./reconcile.ts";

const database = await serviceDatabase();
const { db } = database;
await mutate(db);
const { client } = db;

/** A call of 100 seconds at worker `one`; `two` has no slots yet. Times of the database are moved, so no test waits. */
const world = async () => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await client`update calls set room = 'gone'`;
  const tenantId = await seedTenant(db, { live: 1_000_000 });
  const { caller } = await seedCaller(db, tenantId);
  await sync(db, "one");
  const id: SessionId = await seedCall(db, caller, await readyAvatar(db, caller));
  const syncOne = (...args: Parameters<typeof report> extends [SessionId, ...infer Rest] ? Rest : never) =>
    sync(db, "one", { calls: [report(id, ...args)] });
  const state = async () => {
    const [row] = await client`
      select session.status, session.used::integer, generation, counts_from is not null as "isCounting",
        (select worker_id from fleet.avatar_slots slot where slot.session_id = session.id) as worker
      from usage_sessions session join calls on session_id = id where id = ${id}`;
    return { ...row };
  };
  return {
    id,
    syncOne,
    state,
    age: (seconds: number) => ageCalls(db, [id], seconds),
    /** The charge of the call when its caller ends it now. */
    end: async (): Promise<number> => {
      await releaseCall(db, { kind: "session", id }, { reason: null }, caller, operatorOrigin(), null);
      expect(await findCreditDrift(db, tenantId, 10)).toEqual([]);
      return (await state())["used"];
    },
  };
};
const expire = () => expireWorkers(db, operatorOrigin());
/** On a busy machine, a few additional seconds pass after the start. */
const SLACK = 8;

describe("the seconds by the clock", () => {
  const NOW = new Date("2026-11-30T10:01:00.000Z");
  const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);

  // The worker's last sync and the end of its lease, in seconds from now.
  test.each([
    ["a current lease: until two seconds after the last sync", -10, 5, 52],
    ["a current lease, just synced: until now", -1, 14, 60],
    ["a lease that has just ended: until the last sync", -15, 0, 45],
    ["a lease that was ended early: until the last sync", -3, -1, 57],
    [
      "only a lease, as written by the previous release: until two seconds after 15 seconds before its end",
      null,
      5,
      52,
    ],
  ])("%s", async (_, syncedAt, leaseUntil, seconds) => {
    const { id, syncOne } = await world();
    await syncOne("started", 1);
    await client`update calls set counts_from = ${at(-60)} where session_id = ${id}`;
    await client`
      update fleet.avatar_workers set synced_at = ${syncedAt === null ? null : at(syncedAt)}, lease_until = ${at(leaseUntil)}`;
    const [row] = await client`
      select ${client(FUNCTIONS_SCHEMA)}.used_by_clock(session, ${NOW}) / price as seconds
      from usage_sessions session where id = ${id}`;
    expect(Number(row?.["seconds"])).toBe(seconds);
  });
});

describe("a call, ended by its caller", () => {
  test("just before a report: charged for all seconds until the end", async () => {
    const { syncOne, age, end } = await world();
    await syncOne("started", 1);
    await age(9.5);
    await syncOne("started", 10);
    expect(await end()).toBeWithin(10, 10 + SLACK);
  });

  // The worker reports 12 seconds, 41 seconds after the start.
  test.each([
    ["30 seconds: charged for the seconds of the worker", 30, 16],
    ["10 seconds: charged for the others by the clock", 10, 35],
    ["1 second: charged by the clock", 1, 45],
  ])("whose worker has not synced for %s", async (_, silent, seconds) => {
    const { syncOne, age, end } = await world();
    await syncOne("started", 1);
    await age(40);
    await client`update fleet.avatar_workers set synced_at = now() - make_interval(secs => ${silent}) where id = 'one'`;
    await syncOne("started", 12);
    await age(5);
    expect(await end()).toBeWithin(seconds, seconds + SLACK);
  });

  test("whose worker was killed, before its lease ends: charged until two seconds after its last sync", async () => {
    // The previous release does not write `synced_at`.
    for (const syncedAt of ["now() - interval '10.5 seconds'", "null", "now() - interval '1 hour'"]) {
      const { syncOne, age, end } = await world();
      await syncOne("started", 1);
      await age(30);
      await client.unsafe(`
        update fleet.avatar_workers set synced_at = ${syncedAt}, lease_until = now() + interval '4.5 seconds'`);
      expect(await end()).toBeWithin(21, 23 + SLACK);
    }
  });

  test("after the loss of its worker, before another worker gets it: charged until the last sync", async () => {
    const { syncOne, age, end } = await world();
    await syncOne("started", 1);
    await age(30);
    await endLease(db, "one", 10.5);
    expect(await end()).toBeWithin(20, 20 + SLACK);
  });

  test("after a move: the seconds between its workers cost nothing", async () => {
    const { id, syncOne, age, end, state } = await world();
    await syncOne("started", 1);
    await age(26);
    await sync(db, "two");
    await endLease(db, "one", 16);
    expect(await expire()).toMatchObject({ moved: 1, ended: 0 });
    const moved = await state();
    expect(moved).toMatchObject({ generation: 2, isCounting: false, worker: "two" });
    expect(moved["used"]).toBeWithin(10, 10 + SLACK);
    const [assigned] = (await sync(db, "two")).start;
    expect(assigned?.usedSeconds).toBe(moved["used"]);
    await sync(db, "two", { calls: [report(id, "joined", moved["used"], { generation: 2 })] });
    await age(100);
    expect((await state())["isCounting"]).toBe(false);
    await sync(db, "two", { calls: [report(id, "started", moved["used"] + 1, { generation: 2 })] });
    await age(10);
    expect(await end()).toBeWithin(20, 21 + 2 * SLACK);
  });

  test("while its worker joins again: charged for the usage before", async () => {
    const { syncOne, age, end, state } = await world();
    await syncOne("started", 1);
    await age(9);
    await syncOne("joining", 10);
    expect(await state()).toMatchObject({ status: "started", used: 10, generation: 1, isCounting: false });
    await age(50);
    await syncOne("joined", 10);
    expect(await end()).toBe(10);
  });

  test("after its worker has joined again: the seconds in between cost nothing", async () => {
    const { syncOne, age, end, state } = await world();
    await syncOne("started", 1);
    await syncOne("joining", 10);
    await age(50);
    await syncOne("started", 11);
    expect(await state()).toMatchObject({ used: 11, isCounting: true });
    await age(10);
    expect(await end()).toBeWithin(20, 21 + SLACK);
  });

  test("of the previous release, which stores no start of counting: charged for the reported usage, and after a report by the clock", async () => {
    const { syncOne, age, end } = await world();
    await syncOne("started", 5);
    await client`update calls set counts_from = null`;
    await age(30);
    await syncOne("started", 35);
    expect(await end()).toBeWithin(35, 35 + SLACK);
  });
});

describe("a call whose worker is lost", () => {
  test("without a free slot elsewhere: waits until 15 seconds after the last sync, then ends, charged until that sync", async () => {
    const { syncOne, age, state } = await world();
    await syncOne("started", 1);
    await age(30);
    await endLease(db, "one", 10);
    expect(await expire()).toMatchObject({ moved: 0, ended: 0, rooms: [] });
    expect(await state()).toMatchObject({ status: "started", worker: "one", generation: 1 });
    await endLease(db, "one", 15);
    expect(await expire()).toMatchObject({ moved: 0, ended: 1 });
    expect((await state())["used"]).toBeWithin(15, 15 + SLACK);
  });

  test("a new worker, while the call waits: gets the call", async () => {
    const { id, syncOne } = await world();
    await syncOne("started", 1);
    await endLease(db, "one", 5);
    await expire();
    await sync(db, "two");
    expect(await expire()).toMatchObject({ moved: 1 });
    expect((await sync(db, "two")).start).toMatchObject([{ sessionId: id, generation: 2 }]);
  });

  test("a new sync of the worker, while the call waits: the worker keeps the call", async () => {
    const { syncOne, state } = await world();
    const { leaseEnds } = await syncOne("started", 1);
    expect(await loseWorker(db, "one", leaseEnds)).toBe(true);
    await expire();
    expect((await syncOne("started", 1)).end).toEqual([]);
    await sync(db, "two");
    expect(await expire()).toMatchObject({ moved: 0, ended: 0, rooms: [] });
    expect(await state()).toMatchObject({ worker: "one", generation: 1 });
  });

  test("after an earlier move, at a worker that stops: waits for a slot of another worker, and moves again", async () => {
    const { syncOne } = await world();
    await syncOne("started", 1);
    await client`update calls set generation = 2`;
    await sync(db, "one", { slots: 0, calls: [] });
    expect(await expire()).toMatchObject({ moved: 0, ended: 0 });
    await sync(db, "two", { slots: 1, calls: [] });
    expect(await expire()).toMatchObject({ moved: 1, ended: 0 });
  });

  test("a worker that is reported lost after a later sync, or twice: not marked", async () => {
    const { syncOne } = await world();
    const { leaseEnds } = await syncOne("started", 1);
    await Bun.sleep(2);
    const later = await syncOne("started", 1);
    expect(await loseWorker(db, "one", leaseEnds)).toBe(false);
    expect(await loseWorker(db, "one", later.leaseEnds)).toBe(true);
    expect(await loseWorker(db, "one", later.leaseEnds)).toBe(false);
    expect(await loseWorker(db, "unknown", later.leaseEnds)).toBe(false);
  });
});

test("a call with seconds that were not charged: not ended by the clock before its hold is used up", async () => {
  const { syncOne, age, state } = await world();
  await syncOne("started", 1);
  await syncOne("joining", 10);
  await age(150);
  const pass = () => endDueCalls(db, 10, operatorOrigin());
  expect((await pass()).ended).toBe(0);
  await syncOne("started", 11);
  await age(80);
  await syncOne("started", 91);
  expect((await pass()).ended).toBe(0);
  await age(13);
  expect((await pass()).ended).toBe(1);
  expect(await state()).toMatchObject({ status: "released", used: 100 });
});
