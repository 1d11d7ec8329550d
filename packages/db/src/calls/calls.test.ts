/** Starting and ending calls: a call takes its resources once, and frees them once. */
import { describe, expect, test } from "bun:test";
import { roomName } from "@realtime-avatar/domain/calls/room";
import { newId, type SessionId } from "@realtime-avatar/domain/id";
import { ageCalls, callRequest, readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { connectTo, IS_AWAY, IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { fixture, serviceDatabase } from "@realtime-avatar/testing/fixture";
import { urlAt } from "@realtime-avatar/testing/postgres/clock";
import { random } from "@realtime-avatar/testing/random-bytes";
import { findTestCaller, newClaim, operatorOrigin, seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import type { Caller } from "../callers/callers.ts";
import type { Db } from "../connection/pool.ts";
import { findCreditDrift } from "../credits/invariants.ts";
import { releaseSession, reportUsage } from "../credits/usage-sessions.ts";
import { confirmRoom, failCall, openCall, releaseCall } from "./calls.ts";
import { findCallFile, listWorkers, listWorkersWithWork } from "./fleet.ts";

const database = await serviceDatabase();
await mutate(database.db);
const { db } = database;
const { client } = db;
const BUSY = { connections: 4, waiting: 1000, deadlineMs: 60_000 };
/** The pools of three replicas of the service. */
const pools = await Promise.all([1, 2, 3].map(() => fixture(connectTo(database, BUSY))));

/** A tenant with a key, an avatar, and its own worker with `slots` slots. No other worker has slots. */
const world = async (slots: number) => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await client`delete from call_tickets`;
  const tenantId = await seedTenant(db, { live: 1_000_000, test: 1_000_000 });
  const { caller, record } = await seedCaller(db, tenantId);
  const avatarId = await readyAvatar(db, caller);
  await sync(db, "worker", { slots });
  const start = (changes = {}, who: Caller = caller, pool: Db = db) =>
    openCall(pool, callRequest(who, avatarId, changes), who, null);
  return { tenantId, caller, record, avatarId, start, seed: (changes = {}) => seedCall(db, caller, avatarId, changes) };
};
type World = Awaited<ReturnType<typeof world>>;

const state = async ({ tenantId }: World, id: SessionId) => {
  const [row] = await client`
    select status, used::integer, reserved::integer, reason, room, generation, session.closed_by as "closedBy",
      (select worker_id from fleet.avatar_slots slot where slot.session_id = session.id) as worker
    from usage_sessions session join calls on session_id = id and calls.tenant_id = session.tenant_id
    where session.tenant_id = ${tenantId} and id = ${id}`;
  return { ...row };
};
const thousand = <Result>(work: (pool: Db) => Result, replicas: readonly Db[] = pools): Result[] =>
  Array.from({ length: 1000 }, (_, at) => work(replicas[at % replicas.length] as Db));
const isClean = async ({ tenantId }: World): Promise<void> => {
  expect(await findCreditDrift(db, tenantId, 10)).toEqual([]);
};
const counts = async ({ tenantId }: World) => {
  const [row] = await client`
    select (select count(*)::integer from usage_sessions where tenant_id = ${tenantId}) as sessions,
      (select count(*)::integer from calls where tenant_id = ${tenantId}) as calls,
      (select count(*)::integer from call_tickets where tenant_id = ${tenantId}) as tickets,
      (select count(*)::integer from fleet.avatar_slots where tenant_id = ${tenantId}) as slots`;
  return { ...row };
};

describe("a start", () => {
  test("a call, started: holds credits, and has a slot", async () => {
    const one = await world(1);
    const request = callRequest(one.caller, one.avatarId);
    expect(await openCall(db, request, one.caller, null)).toEqual({
      kind: "written",
      responseFields: {
        reservedCreditMicros: 100,
        expiresAt: expect.any(String),
        longestSeconds: null,
        priceCreditMicrosPerSecond: 1,
        features: ["echo"],
      },
    });
    expect(await state(one, request.id)).toMatchObject({ status: "reserved", room: "create", worker: "worker" });
    await isClean(one);
  });

  test("a call without a ready avatar, over a cap, over the balance, at the limit: refused, nothing is written", async () => {
    const one = await world(9);
    const draft = await world(9);
    await client`update avatars set status = 'draft' where id = ${draft.avatarId}`;
    expect((await draft.start()).kind).toBe("avatar_not_ready");
    expect((await one.start({ avatarId: draft.avatarId })).kind).toBe("avatar_not_found");
    expect((await one.start({ price: 100_000 })).kind).toBe("insufficient_credits");
    const capped = { environment: "live" as const, scopes: ["*" as const], spendLimitCreditMicros: 59 };
    const { secret } = await seedKey(db, one.tenantId, capped, one.record);
    expect((await one.start({}, await findTestCaller(db, secret.keyId))).kind).toBe("spend_limit_exceeded");
    await client`update credit_accounts set max_concurrent_sessions = 1 where tenant_id = ${one.tenantId}`;
    expect((await one.start()).kind).toBe("written");
    expect(await one.start()).toEqual({ kind: "concurrency_limit_reached", limitedBy: "tenant", limit: 1 });
    expect(await counts(one)).toEqual({ sessions: 1, calls: 1, tickets: 0, slots: 1 });
  });

  test("a start, sent again with its Idempotency-Key: replayed, with one hold and one slot", async () => {
    const one = await world(2);
    const claim = { ...newClaim("a"), request: "POST /start" };
    const first = await openCall(db, callRequest(one.caller, one.avatarId), one.caller, claim);
    const second = await openCall(db, callRequest(one.caller, one.avatarId), one.caller, claim);
    expect(second.kind).toBe("replayed");
    if (first.kind !== "written" || second.kind !== "replayed") throw new Error(first.kind);
    expect(second.responseFields).toEqual(first.responseFields);
    expect(await counts(one)).toEqual({ sessions: 1, calls: 1, tickets: 0, slots: 1 });
  });

  test.skipIf(IS_AWAY)("1,000 starts at once, at a limit of 10 and at 10 slots: exactly 10", async () => {
    const atLimit = await world(1000);
    await client`update credit_accounts set max_concurrent_sessions = 10 where tenant_id = ${atLimit.tenantId}`;
    const limited = await Promise.all(thousand((pool) => atLimit.start({}, atLimit.caller, pool)));
    expect(limited.filter(({ kind }) => kind === "written")).toHaveLength(10);
    expect(limited.filter(({ kind }) => kind === "concurrency_limit_reached")).toHaveLength(990);
    expect(await counts(atLimit)).toEqual({ sessions: 10, calls: 10, tickets: 0, slots: 10 });

    const atSlots = await world(10);
    // A ticket ends six seconds after its last request. So the clock stands still during the thousand starts, except on
    // a shard, where this is impossible.
    if (!IS_ONE_DATABASE) return;
    const url = await urlAt(database, new Date().toISOString());
    const stopped = pools.map(() => connectTo({ url }, BUSY));
    const queued = await Promise.all(thousand((pool) => atSlots.start({}, atSlots.caller, pool), stopped));
    await Promise.all(stopped.map((pool) => pool.close()));
    const kinds = queued.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "written")).toHaveLength(10);
    expect(kinds.filter((kind) => kind === "queued")).toHaveLength(100);
    expect(kinds.filter((kind) => kind === "too_many_tickets")).toHaveLength(890);
    expect(await counts(atSlots)).toEqual({ sessions: 10, calls: 10, tickets: 100, slots: 10 });
    await isClean(atSlots);
  });

  test("a worker without its lease, with fewer slots than before: gets no call", async () => {
    const one = await world(1);
    await client`update fleet.avatar_workers set lease_until = now() - interval '1 second'`;
    expect((await one.start()).kind).toBe("queued");
    await sync(db, "worker", { slots: 0 });
    expect((await one.start()).kind).toBe("queued");
    expect(await counts(one)).toMatchObject({ sessions: 0, slots: 0 });
  });

  test("calls of several workers: spread over them", async () => {
    const one = await world(2);
    await sync(db, "other", { slots: 2 });
    await one.seed();
    await one.seed();
    expect((await listWorkers(db)).map(({ id, usedSlots }) => [id, usedSlots])).toEqual([
      ["other", 1],
      ["worker", 1],
    ]);
  });
});

describe("the room", () => {
  test("a call: assigned to its worker once its room is confirmed", async () => {
    const one = await world(1);
    const request = callRequest(one.caller, one.avatarId, { maxSeconds: 100 });
    await openCall(db, request, one.caller, null);
    expect((await sync(db, "worker", { slots: 1 })).start).toEqual([]);
    expect(await confirmRoom(db, one.tenantId, request.id, request.roomName)).toBe("exists");
    expect(await confirmRoom(db, one.tenantId, request.id, request.roomName)).toBe("exists");
    expect(await listWorkersWithWork(db, ["worker", "other"])).toEqual(["worker"]);
    const { start } = await sync(db, "worker", { slots: 1 });
    expect(start).toEqual([
      {
        tenantId: one.tenantId,
        ...{ sessionId: request.id, generation: 1, environment: "live", roomName: request.roomName, mode: "avatar" },
        ...{ avatarId: one.avatarId, manifest: "man_1_x", input: { stt_mode: "server" }, maxSeconds: 100 },
        ...{
          limit: "session_cap",
          longestSeconds: null,
          usedSeconds: 0,
          hasTranscript: false,
          recording: null,
          ...{ history: [], isHandedOver: false, lostProcesses: 0 },
          ...{ roomNumber: 1, gapCount: 0, gapSeconds: 0 },
          brought: null,
          defaultVoiceId: null,
        },
      },
    ]);
    expect(await listWorkersWithWork(db, ["worker"])).toEqual([]);
    // The response was lost.
    expect((await sync(db, "worker", { slots: 1 })).start).toEqual(start);
    expect((await sync(db, "worker", { slots: 1, calls: [report(request.id, "joining", 0)] })).start).toEqual([]);
    expect(await findCallFile(db, "worker", request.id)).toEqual({
      ...{ tenantId: one.tenantId, avatarId: one.avatarId, manifest: "man_1_x" },
    });
    expect(await findCallFile(db, "other", request.id)).toBeNull();
  });

  test("a room that was not created: the call ends without a charge, and its claim is deleted", async () => {
    const one = await world(1);
    const claim = { ...newClaim("a"), request: "POST /start" };
    const request = callRequest(one.caller, one.avatarId);
    await openCall(db, request, one.caller, claim);
    // Another key of the tenant has used the same Idempotency-Key. Its claim stays.
    const { caller: colleague } = await seedCaller(db, one.tenantId);
    await client`
      insert into idempotency_claims (
        tenant_id, caller_id, request, idempotency_key, attempt_id, body_hash, status, location, etag, response_body, created_at
      )
      select tenant_id, ${colleague.id}, request, idempotency_key, attempt_id, body_hash, status, location, etag, response_body,
        created_at from idempotency_claims where tenant_id = ${one.tenantId}`;
    await failCall(db, one.tenantId, request.id, claim, one.caller, operatorOrigin());
    const left = await client`select caller_id from idempotency_claims where tenant_id = ${one.tenantId}`;
    expect(left.map((row) => row["caller_id"])).toEqual([colleague.id]);
    expect(await state(one, request.id)).toMatchObject({ status: "failed", used: 0, room: "delete", worker: null });
    expect(await confirmRoom(db, one.tenantId, request.id, request.roomName)).toBe("failed");
    await isClean(one);
    const again = callRequest(one.caller, one.avatarId);
    expect((await openCall(db, again, one.caller, claim)).kind).toBe("written");
    // A late failure of the first attempt.
    await failCall(db, one.tenantId, request.id, claim, one.caller, operatorOrigin());
    expect((await openCall(db, callRequest(one.caller, one.avatarId), one.caller, claim)).kind).toBe("replayed");
  });

  test("a failure after another request has created the room: changes nothing", async () => {
    const one = await world(1);
    const id = await one.seed();
    await failCall(db, one.tenantId, id, null, one.caller, operatorOrigin());
    expect(await state(one, id)).toMatchObject({ status: "reserved", room: "exists", worker: "worker" });
    await releaseCall(db, { kind: "session", id }, { reason: null }, one.caller, operatorOrigin(), null);
    expect(await confirmRoom(db, one.tenantId, id, roomName("test", id))).toBe("ended");
    expect(await confirmRoom(db, one.tenantId, newId("ses", new Date(), random), "rta-test-x")).toBe("ended");
  });
});

const release = (one: World, id: string, who = one.caller, claim: Parameters<typeof releaseCall>[5] = null) =>
  releaseCall(db, { kind: "session", id }, { reason: "page_hide" }, who, operatorOrigin(), claim);

describe("a release", () => {
  test("a call, released: its renderer's input is erased", async () => {
    const one = await world(1);
    const request = callRequest(one.caller, one.avatarId, { input: { stt_mode: "off", instructions: "Call me Ada." } });
    await openCall(db, request, one.caller, null);
    const inputOf = async () => (await client`select input from calls where session_id = ${request.id}`)[0]?.["input"];
    expect(await inputOf()).toEqual(request.input);
    await release(one, request.id);
    expect(await inputOf()).toEqual({});
  });

  test("a call that never started, released: no charge, and its slot is free at once", async () => {
    const one = await world(1);
    const id = await one.seed();
    expect(await release(one, id)).toEqual({ kind: "written", hasEnded: true, roomName: `rta-test-${id}` });
    expect(await state(one, id)).toMatchObject({ status: "failed", used: 0, room: "delete", worker: null });
    expect(await release(one, id)).toEqual({ kind: "written", hasEnded: false, roomName: null });
    expect((await one.start()).kind).toBe("written");
    await isClean(one);
  });

  test("a started call, released: charged by the clock, or for the reported usage if that is more", async () => {
    const one = await world(2);
    const [byClock, reported] = [await one.seed(), await one.seed()];
    await sync(db, "worker", { calls: [report(byClock), report(reported, "started", 50)] });
    await ageCalls(db, [byClock], 29.5);
    await release(one, byClock);
    await release(one, reported);
    const ended = await state(one, byClock);
    expect(ended).toMatchObject({ status: "released", closedBy: one.caller.id });
    // On a busy machine, a few additional seconds have passed.
    expect(ended["used"]).toBeWithin(30, 45);
    expect(await state(one, reported)).toMatchObject({ used: 50 });
    await isClean(one);
    const { end } = await sync(db, "worker", { calls: [report(byClock)] });
    expect(end).toEqual([{ sessionId: byClock, generation: 1, reason: "user_ended" }]);
  });

  test("a call, released as a session by any key of its lineage: ends at once, for every `used`", async () => {
    const one = await world(2);
    for (const isEngine of [false, true]) {
      const id = await one.seed();
      await sync(db, "worker", { calls: [report(id)] });
      const outcome = await releaseSession(
        ...([db, id, { isEngine, used: isEngine ? 90 : null, reason: null }, one.caller, operatorOrigin()] as const),
      );
      expect(outcome).toMatchObject({ kind: "written", hasEnded: true });
      expect(await state(one, id)).toMatchObject({ status: "released", room: "delete", worker: null });
      expect((await state(one, id))["used"]).toBeLessThan(60);
    }
    await isClean(one);
  });

  test("usage of a call, reported by a key: refused", async () => {
    const one = await world(1);
    const id = await one.seed();
    const outcome = await reportUsage(db, id, { used: 1, leaseSeconds: 60 }, one.caller);
    expect(outcome.kind).toBe("session_closed");
  });

  test("the release of a call of another tenant, environment or lineage, or of a session without a call: changes nothing", async () => {
    const [one, other] = [await world(1), await world(1)];
    const id = await other.seed();
    const child = await seedCaller(db, other.tenantId, {}, other.record);
    expect(await release(one, id)).toEqual({ kind: "written", hasEnded: false, roomName: null });
    expect(await release(other, id, child.caller)).toEqual({ kind: "written", hasEnded: false, roomName: null });
    expect(await release(other, "ses_unknown")).toEqual({ kind: "written", hasEnded: false, roomName: null });
    expect(await state(other, id)).toMatchObject({ status: "reserved", worker: "worker" });
    await client`update api_keys set revoked_at = now(), version = version + 1 where id = ${child.caller.id}`;
    expect(await release(other, id, child.caller)).toEqual({ kind: "stale" });
  });

  test("a release, sent again with its Idempotency-Key: replayed", async () => {
    const one = await world(1);
    const id = await one.seed();
    const claim = { ...newClaim("r"), request: "POST /release" };
    expect((await release(one, id, one.caller, claim)).kind).toBe("written");
    expect(await release(one, id, one.caller, claim)).toMatchObject({ kind: "replayed", response: { status: 201 } });
    expect((await release(one, "ses_unknown", one.caller, { ...claim, idempotencyKey: "u" })).kind).toBe("written");
  });
});
