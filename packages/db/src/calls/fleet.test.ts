/** Avatar workers: reported usage is charged once, and lost calls go on elsewhere or end. */
import { describe, expect, test } from "bun:test";
import type { SessionId } from "@realtime-avatar/domain/id";
import {
  ageCalls,
  callRequest,
  endLease,
  readyAvatar,
  report,
  seedCall,
  sync,
} from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { sessionAt } from "@realtime-avatar/testing/postgres/clock";
import { ofOneDatabase } from "@realtime-avatar/testing/postgres/one-database";
import { whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { findCreditDrift } from "../credits/invariants.ts";
import { sweepSessions } from "../credits/usage-sessions.ts";
import { openCall, releaseCall } from "./calls.ts";
import { listWorkers, listWorkersWithWork } from "./fleet.ts";
import { countFleet, endDueCalls, expireWorkers } from "./reconcile.ts";

const database = await serviceDatabase();
const { db } = database;
await mutate(db);
const { client } = db;

const world = async (environment: "live" | "test" = "live") => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await client`update calls set room = 'gone'`;
  const tenantId = await seedTenant(db, { live: 1_000_000, test: 1_000_000 });
  const { caller, record } = await seedCaller(db, tenantId, { environment });
  const avatarId = await readyAvatar(db, caller);
  await sync(db, "one");
  const seed = (changes = {}) => seedCall(db, caller, avatarId, changes);
  const state = async (id: SessionId) => {
    const [row] = await client`
      select status, used::integer, reason, room, generation, session.version,
        (select worker_id from fleet.avatar_slots slot where slot.session_id = session.id) as worker
      from usage_sessions session join calls on session_id = id where id = ${id}`;
    return { ...row };
  };
  const isClean = async () => expect(await findCreditDrift(db, tenantId, 10)).toEqual([]);
  return { tenantId, caller, record, avatarId, seed, state, isClean };
};
const end = (id: SessionId, used: number, reason: "idle" | "session_cap" = "idle") =>
  sync(db, "one", { calls: [report(id, "ended", used, { reason })] });
const loseLease = (worker: string) => endLease(db, worker);
const pass = (limit = 100) => endDueCalls(db, limit, operatorOrigin());

describe("a report", () => {
  test("a call, started and ended by its worker: charged once, for the reported usage", async () => {
    const one = await world();
    const id = await one.seed();
    await sync(db, "one", { calls: [report(id, "joined", 0)] });
    expect(await one.state(id)).toMatchObject({ status: "reserved", version: 1 });
    await sync(db, "one", { calls: [report(id, "started", 1)] });
    expect(await one.state(id)).toMatchObject({ status: "started", used: 1 });
    expect((await end(id, 42)).rooms).toEqual([`rta-test-${id}`]);
    expect(await one.state(id)).toMatchObject({ ...{ status: "released", used: 42, reason: "idle" }, room: "delete" });
    // The response was lost.
    const again = await end(id, 43);
    expect(again).toMatchObject({ start: [], end: [{ sessionId: id, generation: 1, reason: "idle" }], rooms: [] });
    expect(await one.state(id)).toMatchObject({ used: 42, worker: null });
    await one.isClean();
  });

  test("calls of two avatars with different voices: each has the voice of its avatar at the time of the sync", async () => {
    const one = await world();
    const other = await readyAvatar(db, one.caller);
    const ids = [await one.seed(), await seedCall(db, one.caller, other)];
    await client`update avatars set default_voice_id = 'flite-rms' where id = ${other}`;
    const { start } = await sync(db, "one");
    const voices = Object.fromEntries(start.map(({ sessionId, defaultVoiceId }) => [sessionId, defaultVoiceId]));
    expect(voices).toEqual({ [ids[0] as string]: null, [ids[1] as string]: "flite-rms" });
  });

  test("reports within ten seconds: written once", async () => {
    const one = await world();
    const id = await one.seed();
    await sync(db, "one", { calls: [report(id, "started", 1)] });
    const { version } = (await one.state(id)) as { version: number };
    for (let used = 2; used < 9; used++) await sync(db, "one", { calls: [report(id, "started", used)] });
    expect(await one.state(id)).toMatchObject({ version, used: 1 });
    await client`update usage_sessions set expires_at = expires_at - interval '10 seconds' where id = ${id}`;
    await sync(db, "one", { calls: [report(id, "started", 11)] });
    await sync(db, "one", { calls: [report(id, "started", 12)] });
    expect(await one.state(id)).toMatchObject({ version: version + 1, used: 11 });
  });

  test("a call above its hold, a call that ends before its start was reported, a call that never started: charged exactly", async () => {
    const one = await world();
    const [above, short] = [await one.seed(), await one.seed()];
    await sync(db, "one", { calls: [report(above, "started", 1)] });
    await end(above, 4000, "session_cap");
    expect(await one.state(above)).toMatchObject({ used: 100, reason: "session_cap" });
    await end(short, 3);
    expect(await one.state(short)).toMatchObject({ status: "released", used: 3 });
    const never = await one.seed();
    await end(never, 0);
    expect(await one.state(never)).toMatchObject({ status: "failed", used: 0 });
    await one.isClean();
  });

  test("a call that is listed twice, with more seconds than it holds: charged its hold, once", async () => {
    const one = await world();
    const id = await one.seed();
    const ended = report(id, "ended", Number.MAX_SAFE_INTEGER, { reason: "idle" });
    expect((await sync(db, "one", { calls: [ended, ended] })).rooms).toHaveLength(1);
    expect(await one.state(id)).toMatchObject({ status: "released", used: 100 });
    await one.isClean();
  });

  test("a report of another worker, of another generation, of an unknown call: changes nothing", async () => {
    const one = await world();
    const id = await one.seed();
    const listed = [report(id, "ended", 9, { reason: "idle" })];
    expect((await sync(db, "two", { calls: listed })).end).toEqual([{ sessionId: id, generation: 1, reason: null }]);
    const later = [report(id, "ended", 9, { generation: 2 })];
    const { start, end } = await sync(db, "one", { calls: later });
    expect(start.map(({ sessionId, generation }) => [sessionId, generation])).toEqual([[id, 1]]);
    expect(end).toEqual([{ sessionId: id, generation: 2, reason: null }]);
    await sync(db, "one", { calls: [report("ses_unknown" as SessionId)] });
    expect(await one.state(id)).toMatchObject({ status: "reserved", worker: "one" });
  });

  test("a call of an API with a fast clock: charged from the report of its start", async () => {
    const one = await world();
    const id = await one.seed({ createdAt: new Date(Date.now() + 30_000) });
    await sync(db, "one", { calls: [report(id)] });
    await ageCalls(db, [id], 4.5);
    await client`update usage_sessions set must_end = true where id = ${id}`;
    expect((await pass()).ended).toBe(1);
    const ended = await one.state(id);
    expect(ended).toMatchObject({ status: "released" });
    // On a busy machine, a few more seconds have passed. The fast clock adds no seconds.
    expect(ended["used"]).toBeWithin(5, 20);
    await one.isClean();
  });

  test("calls whose lease has expired, before the sweep: their reports are dropped; their worker leaves and does not get them again", async () => {
    const one = await world();
    const [reserved, started] = [await one.seed(), await one.seed()];
    await sync(db, "one", { calls: [report(started, "started", 7)] });
    await client`update usage_sessions set expires_at = now() - interval '1 second' where tenant_id = ${one.tenantId}`;
    const { start, end } = await sync(db, "one", { calls: [report(reserved, "started", 50), report(started)] });
    expect(start).toEqual([]);
    expect(end).toEqual([reserved, started].map((sessionId) => ({ sessionId, generation: 1, reason: null })));
    expect((await sync(db, "one")).start).toEqual([]);
    await sweepSessions(db, one.tenantId, operatorOrigin());
    expect(await one.state(reserved)).toMatchObject({ status: "failed", used: 0, worker: null });
    expect(await one.state(started)).toMatchObject({ used: 7, worker: null });
    await one.isClean();
  });

  test("a call that another process ends: its worker has news, and gets the reason", async () => {
    const one = await world();
    const [released, idle] = [await one.seed(), await one.seed()];
    await sync(db, "one", { calls: [report(released), report(idle)] });
    expect(await listWorkersWithWork(db, ["one"])).toEqual([]);
    for (const [id, reason] of [
      [released, null],
      [idle, "idle_timeout"],
    ] as const) {
      await releaseCall(db, { kind: "session", id }, { reason }, one.caller, operatorOrigin(), null);
    }
    expect(await listWorkersWithWork(db, ["one"])).toEqual(["one"]);
    const { end } = await sync(db, "one", { calls: [report(released), report(idle)] });
    expect(end.map(({ reason }) => reason)).toEqual(["user_ended", "idle"]);
  });
});

describe("a worker that removes a slot", () => {
  test("a start while the worker's report waits for the counters that the start has locked: gets the slot, and keeps it", async () => {
    const one = await world();
    const id = await one.seed();
    const request = callRequest(one.caller, one.avatarId);
    const { rooms } = await whileHeld(
      database,
      ({ client }) => client`select 1 from api_key_meters where api_key_id = ${one.caller.id} for no key update`,
      () => sync(db, "one", { slots: 1, calls: [report(id, "ended", 1, { reason: "idle" })] }),
      async (holder) => {
        expect((await openCall(holder, request, one.caller, null)).kind).toBe("written");
      },
    );
    expect(rooms).toEqual([`rta-test-${id}`]);
    expect(await one.state(request.id)).toMatchObject({ status: "reserved", worker: "one" });
    expect(await listWorkers(db)).toMatchObject([{ slots: 1, usedSlots: 1 }]);
    await one.isClean();
  });
});

describe("a lost worker", () => {
  test("a lost worker: its call moves to another worker once; after the next loss it ends, charged for the reported usage", async () => {
    const one = await world();
    const id = await one.seed();
    await sync(db, "one", { calls: [report(id, "started", 7)] });
    await sync(db, "two");
    await loseLease("one");
    expect(await expireWorkers(db, operatorOrigin())).toMatchObject({ moved: 1, ended: 0, rooms: [] });
    expect(await listWorkersWithWork(db, ["two"])).toEqual(["two"]);
    expect((await sync(db, "two")).start).toMatchObject([{ sessionId: id, generation: 2, usedSeconds: 7 }]);
    // The first worker syncs again.
    const back = await sync(db, "one", { calls: [report(id, "started", 30)] });
    expect(back).toMatchObject({ start: [], end: [{ sessionId: id, generation: 1, reason: null }], rooms: [] });
    expect(await one.state(id)).toMatchObject({ used: 7, worker: "two", generation: 2 });
    await one.isClean();
    await loseLease("two");
    const rooms = [`rta-test-${id}`];
    expect(await expireWorkers(db, operatorOrigin())).toMatchObject({ moved: 0, ended: 1, rooms });
    expect(await one.state(id)).toMatchObject({ status: "released", used: 7, reason: "failed", worker: null });
    expect((await listWorkers(db)).map(({ id }) => id)).toEqual(["one"]);
    await one.isClean();
  });

  test("a lost worker, without another free slot: its calls end", async () => {
    const one = await world();
    const [started, reserved] = [await one.seed(), await one.seed()];
    await sync(db, "one", { calls: [report(started, "started", 7)] });
    await loseLease("one");
    expect(await expireWorkers(db, operatorOrigin())).toMatchObject({ moved: 0, ended: 2 });
    expect(await one.state(started)).toMatchObject({ status: "released", used: 7 });
    expect(await one.state(reserved)).toMatchObject({ status: "failed", used: 0 });
    expect(await listWorkers(db)).toEqual([]);
    await one.isClean();
  });

  test("calls of a lost worker, while a start holds the counters: the pass waits for the counters first; the start keeps its slot", async () => {
    const one = await world();
    const [, second] = [await one.seed(), await one.seed()];
    await sync(db, "two", { slots: 1 });
    // The first call could move. The second has moved before, so it ends.
    await client`update calls set generation = 2 where session_id = ${second}`;
    await loseLease("one");
    const expired = await whileHeld(
      database,
      ({ client }) => client`select 1 from api_key_meters where api_key_id = ${one.caller.id} for no key update`,
      () => expireWorkers(db, operatorOrigin()),
      async (holder) => {
        expect((await openCall(holder, callRequest(one.caller, one.avatarId), one.caller, null)).kind).toBe("written");
      },
    );
    expect(expired).toMatchObject({ moved: 0, ended: 2 });
    await one.isClean();
  });

  test("a worker that stops: its calls move at once; a worker that changes its slots: keeps its calls", async () => {
    const one = await world();
    const id = await one.seed();
    await sync(db, "one", { slots: 0, calls: [report(id)] });
    expect(await listWorkers(db)).toMatchObject([{ id: "one", slots: 0, usedSlots: 1 }]);
    expect((await expireWorkers(db, operatorOrigin())).moved).toBe(0);
    await sync(db, "two");
    await sync(db, "one", { slots: 0, calls: [] });
    expect((await expireWorkers(db, operatorOrigin())).moved).toBe(1);
    expect(await one.state(id)).toMatchObject({ worker: "two" });
    expect(await countFleet(db)).toEqual({ slots: 2, usedSlots: 1, openCalls: 1, tickets: 0 });
  });
});

describe("a pass", () => {
  test("calls of a key that is revoked, expired or over its cap, and of its descendants: ended by the clock", async () => {
    for (const change of ["revoked_at = now()", "expires_at = now()", "spend_limit_credit_micros = 10"]) {
      const one = await world();
      const child = await seedCaller(db, one.tenantId, {}, one.record);
      const [own, below] = [await one.seed(), await seedCall(db, child.caller, one.avatarId)];
      await sync(db, "one", { calls: [report(own), report(below)] });
      expect(await pass()).toEqual({ ended: 0, rooms: [] });
      await client.unsafe(`update api_keys set ${change} where id = '${one.caller.id}'`);
      await ageCalls(db, [below], 4.5);
      const { ended, rooms } = await pass();
      expect([ended, rooms.sort()]).toEqual([2, [own, below].map((id) => `rta-test-${id}`).sort()]);
      const released = await one.state(below);
      expect(released).toMatchObject({ status: "released", reason: "key_ended", worker: null });
      expect(released["used"]).toBeWithin(5, 20);
      const { end } = await sync(db, "one", { calls: [report(own), report(below)] });
      expect(end.map(({ reason }) => reason)).toEqual(["user_ended", "user_ended"]);
      await one.isClean();
    }
  });

  test("calls of a test key below a live key that is over its cap: go on", async () => {
    const one = await world();
    const child = await seedCaller(db, one.tenantId, { environment: "test" }, one.record);
    const [own, below] = [await one.seed(), await seedCall(db, child.caller, await readyAvatar(db, child.caller))];
    await sync(db, "one", { calls: [report(own), report(below)] });
    await client`update api_keys set spend_limit_credit_micros = 10 where id = ${one.caller.id}`;
    expect((await pass()).rooms).toEqual([`rta-test-${own}`]);
    expect(await one.state(below)).toMatchObject({ status: "started", reason: null });
    await one.isClean();
  });

  test("a call that has used up its hold by the clock: ended, and charged for the whole hold", async () => {
    const one = await world();
    const [cap, credits] = [await one.seed(), await one.seed({ price: 10_000 })];
    await sync(db, "one", { calls: [report(cap), report(credits)] });
    await ageCalls(db, [cap], 100.5);
    await ageCalls(db, [credits], 102);
    await sync(db, "one", { calls: [report(cap), report(credits)] });
    expect((await pass()).ended).toBe(1);
    expect(await one.state(credits)).toMatchObject({ used: 990_000, reason: "out_of_credits" });
    await ageCalls(db, [cap], 2.5);
    expect((await pass()).ended).toBe(1);
    expect(await one.state(cap)).toMatchObject({ used: 100, reason: "session_cap" });
    await one.isClean();
  });

  test("a call that the person does not join: ended by the sweep, at no charge, without its slot and room", async () => {
    const one = await world();
    const id = await one.seed();
    await client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${id}`;
    expect(await pass()).toEqual({ ended: 0, rooms: [] });
    await sweepSessions(db, one.tenantId, operatorOrigin());
    expect(await one.state(id)).toMatchObject({ status: "failed", used: 0, room: "delete", worker: null });
    expect((await sync(db, "one", { calls: [report(id, "joined", 0)] })).end).toMatchObject([{ reason: null }]);
    await one.isClean();
  });

  test("a call that a function of an earlier version has ended: its slot and room are freed", async () => {
    const one = await world();
    const id = await one.seed();
    await client`update usage_sessions set ended_at = now(), status = 'failed', is_counted = false where id = ${id}`;
    expect((await pass()).ended).toBe(0);
    expect(await one.state(id)).toMatchObject({ room: "delete", worker: null });
  });

  test("test outcomes without an avatar and with a lost worker: start at no worker, end after five seconds", async () => {
    const one = await world("test");
    const never = await one.seed({ metadata: { test_outcome: "never_joined" } });
    const lost = await one.seed({ metadata: { test_outcome: "worker_lost" } });
    expect((await sync(db, "one")).start.map(({ sessionId }) => sessionId)).toEqual([lost]);
    await sync(db, "one", { calls: [report(lost, "started", 2)] });
    expect((await pass()).ended).toBe(0);
    await client`update usage_sessions set started_at = now() - interval '5 seconds' where id = ${lost}`;
    expect((await pass()).ended).toBe(1);
    expect(await one.state(lost)).toMatchObject({ status: "released", used: 2, reason: "failed" });
    expect(await one.state(never)).toMatchObject({ status: "reserved" });
  });

  test("a pass, while a start holds the counters and polls its ticket: waits only for the counters, and the ticket stays", async () => {
    const one = await world();
    const [id] = [await one.seed(), await one.seed()];
    await sync(db, "one", { calls: [report(id)] });
    const queued = await openCall(db, callRequest(one.caller, one.avatarId), one.caller, null);
    if (queued.kind !== "queued") throw new Error(`not queued: ${queued.kind}`);
    const { ticketId } = queued.place;
    await client`update call_tickets set polled_at = now() - interval '7 seconds' where id = ${ticketId}`;
    await client`update usage_sessions set must_end = true where id = ${id}`;
    const ended = await whileHeld(
      database,
      ({ client }) => client`select 1 from api_key_meters where api_key_id = ${one.caller.id} for no key update`,
      () => pass(),
      ({ client }) => client`update call_tickets set polled_at = now() where id = ${ticketId}`,
    );
    expect(ended.ended).toBe(1);
    expect(await client`select 1 from call_tickets where id = ${ticketId}`).toHaveLength(1);
    await client`update call_tickets set polled_at = now() - interval '7 seconds'`;
    await pass();
    expect(await client`select 1 from call_tickets`).toHaveLength(0);
  });

  test("more calls to end than the limit: the next pass ends the others", async () => {
    const one = await world();
    await one.seed();
    await one.seed();
    await client`update api_keys set revoked_at = now() where id = ${one.caller.id}`;
    expect([(await pass(1)).ended, (await pass(1)).ended, (await pass(1)).ended]).toEqual([1, 1, 0]);
  });

  ofOneDatabase("a worker that stops in the second half of a millisecond: its lease ends at once", async () => {
    await world();
    const now = await sessionAt(database, "2026-01-01T00:00:00.123999Z");
    await sync(now, "one", { slots: 0, calls: [] });
    await expireWorkers(now, operatorOrigin());
    await now.close();
    expect(await listWorkers(db)).toEqual([]);
  });
});
