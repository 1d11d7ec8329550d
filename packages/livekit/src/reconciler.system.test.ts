/**
 * The reconciler, on the stand-in: the calls that it ends and the rooms that it deletes or keeps, also while LiveKit is
 * down.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { attachAgent, confirmRoom, openCall, releaseCall } from "@realtime-avatar/db/calls/calls";
import { readInstance } from "@realtime-avatar/db/calls/reconcile";
import { findCreditDrift } from "@realtime-avatar/db/credits/invariants";
import { roomName } from "@realtime-avatar/domain/calls/room";
import { newId, type SessionId } from "@realtime-avatar/domain/id";
import type { SpanAttributes } from "@realtime-avatar/runtime/tracing";
import { Secret } from "@realtime-avatar/storage/secret";
import { callRequest, readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { startLivekitStandIn } from "@realtime-avatar/testing/livekit/stand-in";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { INTERVALS_MS, type Reconciler, startReconciler } from "./reconciler.ts";
import { createRooms } from "./rooms.ts";

const { db } = await fileDatabase();
const { client } = db;
const instance = await readInstance(db);
const SHORT_INTERVALS_MS = { end: 20, list: 50 };

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (let close = opened.pop(); close; close = opened.pop()) await close();
});

/** A LiveKit, a tenant with a key, and a worker with slots. */
const world = async ({ autoCreate = false, slots = 50 } = {}) => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  const livekit = await startLivekitStandIn({ autoCreate });
  opened.push(livekit.stop);
  const rooms = createRooms({ ...livekit, apiSecret: new Secret(livekit.apiSecret) });
  const tenantId = await seedTenant(db, { live: 1_000_000, test: 1_000_000 });
  const { caller } = await seedCaller(db, tenantId);
  const avatarId = await readyAvatar(db, caller);
  await sync(db, "worker", { slots });
  const spans: string[] = [];
  const tracing = {
    record: (name: string, _: number, attributes: SpanAttributes, hasFailed = false) =>
      void spans.push(`${name} ${JSON.stringify(attributes)}${hasFailed ? " failed" : ""}`),
  };
  const lines: { level: "info" | "warn"; message: string; fields: object }[] = [];
  const log = {
    info: (fields: object, message: string) => void lines.push({ level: "info", message, fields }),
    warn: (fields: object, message: string) => void lines.push({ level: "warn", message, fields }),
  };
  const nameOf = (id: SessionId): string => roomName(instance, id);
  return {
    livekit,
    tenantId,
    caller,
    avatarId,
    lines,
    spans,
    nameOf,
    reconcile: (intervalsMs = SHORT_INTERVALS_MS): Reconciler => {
      const reconciler = startReconciler({ db, rooms, log, random, tracing, intervalsMs });
      opened.push(reconciler.stop);
      return reconciler;
    },
    /** Starts a call, with its room. */
    start: async ({ isStarted = false } = {}): Promise<SessionId> => {
      const id = newId("ses", new Date(), random);
      await rooms.create(nameOf(id));
      await seedCall(db, caller, avatarId, { id, roomName: nameOf(id) });
      if (isStarted) await sync(db, "worker", { slots, calls: [report(id, "started", 7)] });
      return id;
    },
    revoke: () => client`update api_keys set revoked_at = now() where id = ${caller.id}`,
    expireLease: () =>
      client`update fleet.avatar_workers set lease_until = now(), synced_at = null where id = 'worker'`,
    stateOf: async (id: SessionId) => {
      const [row] = await client`
        select status, used::integer, reason, room, generation from usage_sessions session
        join calls on session_id = id and calls.tenant_id = session.tenant_id where id = ${id}`;
      return { ...row };
    },
  };
};
type World = Awaited<ReturnType<typeof world>>;

const untilRoom = (one: World, id: SessionId, room: string): Promise<unknown> =>
  until(async () => (await one.stateOf(id))["room"] === room, { state: () => one.stateOf(id) });
/** Waits until two more lists of rooms were compared. */
const untilCompared = async ({ livekit }: World): Promise<void> => {
  const lists = () => livekit.requests.filter(({ method }) => method === "ListRooms").length;
  const before = lists();
  await until(() => lists() > before + 3);
};

describe("a call that awaits its agent", () => {
  /** A call that began this many seconds ago, whose agent was dispatched. */
  const startWithAgent = async (
    { livekit, caller, avatarId, nameOf }: World,
    secondsAgo: number,
  ): Promise<SessionId> => {
    const id = newId("ses", new Date(), random);
    const rooms = createRooms({ ...livekit, apiSecret: new Secret(livekit.apiSecret) });
    await rooms.create(nameOf(id), { agentName: "an-agent", metadata: "the metadata of the dispatch" });
    await seedCall(db, caller, avatarId, { id, roomName: nameOf(id), awaitsAgent: true });
    await client`update call_agents set created_at = now() - make_interval(secs => ${secondsAgo}) where session_id = ${id}`;
    return id;
  };
  const brought = {
    url: "wss://x",
    token: Buffer.from("sealed"),
    digest: Buffer.from("digest"),
    agentIdentity: "agent",
  };

  test("for five seconds: the agent is dispatched again in each pass, until a worker takes it", async () => {
    const one = await world();
    // The other agent is not due within an hour, even if this test is slow.
    const [late, early] = [await startWithAgent(one, 5), await startWithAgent(one, -3600)];
    const asked = (id: SessionId) =>
      one.livekit.requests.filter(({ method, name }) => method === "CreateDispatch" && name === one.nameOf(id)).length;
    one.reconcile();
    await until(() => asked(late) >= 2);
    for (const { agentName, metadata } of one.livekit.dispatches(one.nameOf(late))) {
      expect([agentName, metadata]).toEqual(["an-agent", "the metadata of the dispatch"]);
    }
    one.livekit.takeJobs(one.nameOf(late));
    await untilCompared(one);
    const before = asked(late);
    await untilCompared(one);
    expect([asked(late) - before, asked(early)]).toEqual([0, 0]);
    expect(one.spans.some((span) => span.startsWith("livekit_dispatch_agent"))).toBe(true);
    expect(one.lines.filter(({ level }) => level === "warn")).not.toEqual([]);
  });

  test("that has its avatar, or that has ended: the agent is not dispatched again", async () => {
    const one = await world();
    const [attached, ended] = [await startWithAgent(one, 60), await startWithAgent(one, 60)];
    const call = { tenantId: one.tenantId, sessionId: attached };
    expect(await attachAgent(db, call, one.avatarId, brought)).toBe("attached");
    await releaseCall(db, { kind: "session", id: ended }, { reason: null }, one.caller, operatorOrigin(), null);
    one.reconcile();
    await untilCompared(one);
    const names = [attached, ended].map(one.nameOf);
    const asked = one.livekit.requests.filter(
      ({ method, name }) => method.endsWith("Dispatch") && names.includes(name),
    );
    expect(asked).toEqual([]);
    expect(await client`select from call_agents where session_id = ${ended}`).toHaveLength(0);
  });

  test("while LiveKit fails: calls end, and no data of them remain", async () => {
    const one = await world();
    const id = await startWithAgent(one, 60);
    one.livekit.setFault({ kind: "refuses", status: 503 });
    one.reconcile();
    await one.revoke();
    await until(async () => (await one.stateOf(id))["status"] === "failed");
    expect(await client`select from call_agents where session_id = ${id}`).toHaveLength(0);
  });
});

describe("calls that end", () => {
  test("a revoked key with a started and a reserved call: both end, the rooms are deleted, one is charged", async () => {
    const one = await world();
    const started = await one.start({ isStarted: true });
    const reserved = await one.start();
    one.reconcile();
    await untilCompared(one);
    expect(one.livekit.rooms().sort()).toEqual([started, reserved].map(one.nameOf).sort());
    await one.revoke();
    await untilRoom(one, started, "gone");
    await untilRoom(one, reserved, "gone");
    expect(one.livekit.rooms()).toEqual([]);
    expect((await one.stateOf(started))["used"]).toBeGreaterThanOrEqual(7);
    expect((await one.stateOf(reserved))["used"]).toBe(0);
    // A pass without changes has no span.
    expect(one.spans.filter((span) => span.startsWith("e"))).toEqual(['end_due_calls {"ended":2,"moved":0}']);
    for (const id of [started, reserved]) expect(one.spans).toContain(`livekit_delete_room {"session_id":"${id}"}`);
    expect(await findCreditDrift(db, one.tenantId, 10)).toEqual([]);
  });

  test("a worker whose lease is over: its call moves to another worker once, and then ends with its room", async () => {
    const one = await world();
    const call = await one.start({ isStarted: true });
    await sync(db, "other");
    await one.expireLease();
    const reconciler = one.reconcile();
    await until(() => reconciler.stats().moved === 1);
    expect(await one.stateOf(call)).toMatchObject({ status: "started", generation: 2, room: "exists" });
    await client`update fleet.avatar_workers set lease_until = now(), synced_at = null`;
    await untilRoom(one, call, "gone");
    expect(await one.stateOf(call)).toMatchObject({ status: "released", used: 7, reason: "failed" });
    expect(one.livekit.rooms()).toEqual([]);
  });

  test.each(["revoke", "expireLease"] as const)(
    "calls that end by %s: their rooms are deleted before the next list of rooms",
    async (end) => {
      const one = await world();
      await one.start({ isStarted: true });
      one.reconcile({ ...SHORT_INTERVALS_MS, list: 3_600_000 });
      await until(() => one.livekit.requests.some(({ method }) => method === "ListRooms"));
      await one[end]();
      await until(() => one.livekit.rooms().length === 0);
    },
  );

  test("three reconcilers, forty calls of a revoked key: each call ends once, and no room is left", async () => {
    const one = await world();
    for (let at = 0; at < 40; at++) await one.start({ isStarted: at % 2 === 0 });
    const reconcilers = [one.reconcile(), one.reconcile(), one.reconcile()];
    await one.revoke();
    await until(() => one.livekit.rooms().length === 0);
    await untilCompared(one);
    expect(reconcilers.reduce((sum, { stats }) => sum + stats().ended, 0)).toBe(40);
    const [row] =
      await client`select count(*)::integer as left from calls where tenant_id = ${one.tenantId} and room <> 'gone'`;
    expect(row?.["left"]).toBe(0);
    expect(await findCreditDrift(db, one.tenantId, 10)).toEqual([]);
  });

  /** Makes a function of the database fail until the test ends. */
  const fail = async (name: "end_due_calls" | "expire_workers"): Promise<void> => {
    const [row] = await client`select pronamespace::regnamespace::text as schema from pg_proc where proname = ${name}`;
    const rename = (from: string, to: string) =>
      client.unsafe(`alter function ${row?.["schema"]}.${from} rename to ${to}`);
    await rename(name, "away");
    opened.push(() => rename("away", name));
  };

  test("the end of due calls fails: calls of a lost worker still move", async () => {
    const one = await world();
    await one.start({ isStarted: true });
    await sync(db, "other");
    await one.expireLease();
    await fail("end_due_calls");
    const reconciler = one.reconcile();
    await until(() => one.lines.some(({ level }) => level === "warn"));
    await until(() => reconciler.stats().moved === 1);
  });

  test("the expiry of workers fails: due calls are still ended and counted", async () => {
    const one = await world();
    const call = await one.start({ isStarted: true });
    await one.revoke();
    await fail("expire_workers");
    const reconciler = one.reconcile();
    await untilRoom(one, call, "gone");
    expect(reconciler.stats().ended).toBe(1);
  });
});

describe("rooms", () => {
  test("a room without a call: deleted each time it appears; rooms of other services: kept", async () => {
    const one = await world();
    const call = await one.start();
    one.livekit.addRoom("rta-other-ses_1");
    one.livekit.addRoom("somebody else's");
    const reconciler = one.reconcile();
    const orphan = roomName(instance, newId("ses", new Date(), random));
    for (let round = 1; round <= 3; round++) {
      one.livekit.addRoom(orphan);
      await until(() => !one.livekit.rooms().includes(orphan));
      expect(reconciler.stats().orphans).toBeGreaterThanOrEqual(round);
    }
    expect(one.livekit.rooms().sort()).toEqual([one.nameOf(call), "rta-other-ses_1", "somebody else's"].sort());
  });

  test("the room of an ended call that appears again: deleted, although its deletion was recorded", async () => {
    const one = await world();
    const call = await one.start({ isStarted: true });
    one.reconcile();
    await one.revoke();
    await untilRoom(one, call, "gone");
    one.livekit.addRoom(one.nameOf(call));
    await until(() => one.livekit.rooms().length === 0);
  });

  test("a missing room: a started call ends, charged the reported usage; for a reserved call it is created again", async () => {
    const one = await world();
    const started = await one.start({ isStarted: true });
    const reserved = await one.start();
    one.reconcile();
    await untilCompared(one);
    await one.livekit.kill();
    await one.livekit.restart();
    await untilRoom(one, started, "gone");
    expect(await one.stateOf(started)).toMatchObject({ status: "released", used: 7, reason: "disconnected" });
    await until(() => one.livekit.rooms().includes(one.nameOf(reserved)));
    expect(await one.stateOf(reserved)).toMatchObject({ status: "reserved", room: "exists" });
    expect(one.livekit.rooms()).toEqual([one.nameOf(reserved)]);
    expect(await findCreditDrift(db, one.tenantId, 10)).toEqual([]);
  });

  test("a room that was missing in only one list: its call goes on", async () => {
    const one = await world();
    const call = await one.start({ isStarted: true });
    one.livekit.leaveOutOnce(one.nameOf(call));
    one.reconcile();
    await untilCompared(one);
    expect(await one.stateOf(call)).toMatchObject({ status: "started", room: "exists" });
  });

  test("a call whose room is still being created: unchanged, also afterwards", async () => {
    const one = await world();
    const request = callRequest(one.caller, one.avatarId);
    const own = { ...request, roomName: one.nameOf(request.id) };
    expect((await openCall(db, own, one.caller, null)).kind).toBe("written");
    one.reconcile();
    await untilCompared(one);
    expect(await one.stateOf(request.id)).toMatchObject({ status: "reserved", room: "create" });
    expect(one.livekit.rooms()).toEqual([]);
    one.livekit.addRoom(own.roomName);
    expect(await confirmRoom(db, one.tenantId, request.id, own.roomName)).toBe("exists");
    await untilCompared(one);
    expect(one.livekit.rooms()).toEqual([own.roomName]);
  });
});

describe("a LiveKit that fails", () => {
  test.each([
    ["is not there", (one: World) => one.livekit.kill()],
    ["does not respond", async (one: World) => one.livekit.setFault({ kind: "slow", ms: 60_000 })],
    ["refuses", async (one: World) => one.livekit.setFault({ kind: "refuses", status: 500 })],
    ["loses its responses", async (one: World) => one.livekit.setFault({ kind: "loses_response" })],
  ])("LiveKit %s: calls end in the database; later the rooms are deleted; one line is logged", async (_, fail) => {
    const one = await world();
    const calls = [await one.start({ isStarted: true }), await one.start()];
    const reconciler = one.reconcile();
    await untilCompared(one);
    await fail(one);
    await one.revoke();
    for (const call of calls) await untilRoom(one, call, "delete");
    await until(() => reconciler.stats().ended === 2);
    // Later calls end as well: no pass waits for LiveKit.
    const { caller } = await seedCaller(db, one.tenantId);
    const id = newId("ses", new Date(), random);
    await seedCall(db, caller, one.avatarId, { id, roomName: one.nameOf(id) });
    await client`update api_keys set revoked_at = now() where id = ${caller.id}`;
    await untilRoom(one, id, "delete");
    expect(await findCreditDrift(db, one.tenantId, 10)).toEqual([]);
    await until(() => one.lines.some(({ level }) => level === "warn"));
    one.livekit.setFault(null);
    await one.livekit.restart();
    for (const call of [...calls, id]) await untilRoom(one, call, "gone");
    expect(one.livekit.rooms()).toEqual([]);
    const failures = one.lines.filter(({ level }) => level === "warn");
    expect(failures.map(({ message }) => message)).toEqual(["failed to compare calls and rooms; retrying"]);
    expect(JSON.stringify(failures)).not.toMatch(/eyJ[\w-]{20}/);
    expect(one.spans.filter((span) => span.endsWith(" failed"))).not.toEqual([]);
    expect(one.spans.join()).not.toMatch(/eyJ[\w-]{20}/);
  });

  test("LiveKit, unreachable at the start: the first failed list is not logged, the second is", async () => {
    const one = await world();
    // Each pass would first ask for the rooms of other tests.
    await client`delete from call_agents`;
    await one.livekit.kill();
    one.reconcile();
    const warnings = () => one.lines.filter(({ level }) => level === "warn");
    await until(() => warnings().length > 0);
    expect(warnings().map(({ message }) => message)).toEqual(["failed to compare calls and rooms; retrying"]);
    expect(one.spans.filter((span) => span === "compare_rooms {} failed").length).toBeGreaterThan(1);
  });

  test("a stop while LiveKit does not respond: waits only for the running work", async () => {
    const one = await world();
    await one.start();
    one.livekit.setFault({ kind: "slow", ms: 60_000 });
    const reconciler = one.reconcile();
    await one.revoke();
    await until(() => reconciler.stats().ended === 1);
    await reconciler.stop();
  });

  test.each([true, false])(
    "a server, whose participants can create rooms: %p: the stats show it",
    async (autoCreate) => {
      const one = await world({ autoCreate });
      const reconciler = one.reconcile();
      await until(() => reconciler.stats().autoCreate !== null);
      expect(reconciler.stats().autoCreate).toBe(autoCreate);
      expect(one.lines.filter(({ message }) => message.includes("auto_create"))).toHaveLength(autoCreate ? 1 : 0);
    },
  );
});

test("the pauses between passes: shorter than 5 seconds, within which a call ends and an empty room is deleted", () => {
  expect(INTERVALS_MS.end).toBeLessThanOrEqual(2000);
  expect(INTERVALS_MS.list).toBeLessThan(5000);
});
