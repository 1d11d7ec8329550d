/** Resuming a call: one room at a time, only for its own lineage. Also the absences that are not charged. */
import { describe, expect, test } from "bun:test";
import { roomName } from "@realtime-avatar/domain/calls/room";
import { RESUME } from "@realtime-avatar/domain/calls/worker-sync";
import { newId } from "@realtime-avatar/domain/id";
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
import { connectTo } from "@realtime-avatar/testing/database";
import { fixture, serviceDatabase } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { newClaim, operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { findCreditDrift } from "../credits/invariants.ts";
import { confirmRoom, failCall, openCall, releaseCall } from "./calls.ts";
import { compareRooms, expireWorkers } from "./reconcile.ts";
import { findCallToResume, resumeCall } from "./resume.ts";

const database = await serviceDatabase();
const { db } = database;
await mutate(db);
const { client } = db;
const pools = await Promise.all(
  [1, 2, 3].map(() => fixture(connectTo(database, { connections: 4, deadlineMs: 60_000 }))),
);

const CAN_RESUME = { features: ["echo", RESUME] };

/** A call of 100 seconds at the worker `one`, which can move it. The person has not joined. */
const world = async (features: string[] = CAN_RESUME.features) => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  const tenantId = await seedTenant(db, { live: 1_000_000, test: 1_000_000 });
  const { caller, record } = await seedCaller(db, tenantId);
  const child = (await seedCaller(db, tenantId, {}, record)).caller;
  const other = (await seedCaller(db, tenantId)).caller;
  const avatarId = await readyAvatar(db, child);
  await sync(db, "one", { features });
  const id = await seedCall(db, child, avatarId);
  const room = (number: number) => ({ sessionId: id, roomNumber: number, roomName: roomName("test", id, number) });
  const syncOne = (
    state: "joined" | "started",
    used: number,
    resume = { room_number: 1, gap_count: 0, gap_seconds: 0 },
  ) => sync(db, "one", { features, calls: [report(id, state, used, { resume })] });
  const state = async () => {
    const [row] = await client`
      select status, used::integer, room, room_number as "roomNumber", gap_count as "gapCount", gap_seconds as "gapSeconds",
        counts_from is not null as "isCounting", expires_at > now() + interval '55 seconds' as "isFresh"
      from usage_sessions session join calls on session_id = id where id = ${id}`;
    return { ...row };
  };
  const release = (reason: string | null) =>
    releaseCall(db, { kind: "session", id }, { reason }, caller, operatorOrigin(), null);
  return { tenantId, caller, child, other, avatarId, id, room, syncOne, state, release };
};
const started = async () => {
  const call = await world();
  await call.syncOne("started", 1);
  return call;
};

describe("a call that is resumed", () => {
  test("once its next room exists: its worker is told once to move there; the previous room is stray", async () => {
    const { tenantId, caller, id, room, syncOne, state } = await started();
    expect(await findCallToResume(db, caller, id)).toMatchObject({
      ...{
        isOpen: true,
        isStarted: true,
        hasAgent: false,
        roomNumber: 1,
        isRoomPending: false,
        maxSeconds: 100,
        price: 1,
      },
    });
    expect(await resumeCall(db, room(2), caller, null)).toEqual({ kind: "written" });
    expect((await findCallToResume(db, caller, id))?.isRoomPending).toBe(true);
    expect((await syncOne("started", 2)).move).toEqual([]);
    // The start of the call confirms its first room late.
    expect(await confirmRoom(db, tenantId, id, room(1).roomName)).toBe("ended");
    expect(await confirmRoom(db, tenantId, id, room(2).roomName)).toBe("exists");
    // A second request for the same room does not confirm it again.
    expect(await resumeCall(db, room(2), caller, null)).toEqual({ kind: "written" });
    expect((await findCallToResume(db, caller, id))?.isRoomPending).toBe(false);
    const [move, ...others] = (await syncOne("started", 3)).move;
    expect([move, others]).toMatchObject([{ ...room(2), generation: 1, mode: "avatar", maxSeconds: 100 }, []]);
    const moved = { room_number: 2, gap_count: 1, gap_seconds: 0 };
    expect((await syncOne("joined", 3, moved)).move).toEqual([]);
    const names = [room(1).roomName, room(2).roomName];
    expect(await compareRooms(db, "rta-test-", names)).toEqual({ stray: [room(1).roomName], missing: [] });
    expect(await compareRooms(db, "rta-test-", names.slice(0, 1))).toMatchObject({
      ...{ stray: [room(1).roomName], missing: [{ sessionId: id, roomName: room(2).roomName, isStarted: true }] },
    });
    expect(await state()).toMatchObject({ room: "exists", roomNumber: 2, gapCount: 1 });
  });

  test("many concurrent requests on three replicas: all get one room", async () => {
    const { caller, child, room, state } = await started();
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, at) => resumeCall(pools[at % 3] ?? db, room(2), at % 2 ? caller : child, null)),
    );
    expect(outcomes).toEqual(Array(12).fill({ kind: "written" }));
    expect(await state()).toMatchObject({ room: "create", roomNumber: 2 });
    // A request that looked up the call before two other resumes is outdated.
    expect((await resumeCall(db, room(3), caller, null)).kind).toBe("written");
    expect((await resumeCall(db, room(2), caller, null)).kind).toBe("stale");
    expect((await resumeCall(db, room(5), caller, null)).kind).toBe("stale");
    expect(await state()).toMatchObject({ roomNumber: 3 });
  });

  test("the same Idempotency-Key: one room", async () => {
    const { caller, room, state } = await started();
    const claim = { ...newClaim("again"), request: "POST /resume" };
    expect((await resumeCall(db, room(2), caller, claim)).kind).toBe("written");
    expect((await resumeCall(db, room(3), caller, claim)).kind).toBe("replayed");
    expect(await state()).toMatchObject({ roomNumber: 2 });
  });

  test("while its worker is lost: the next worker starts in the next room, without a move", async () => {
    const { tenantId, caller, id, room } = await started();
    await endLease(db, "one");
    expect((await resumeCall(db, room(2), caller, null)).kind).toBe("written");
    await sync(db, "two", CAN_RESUME);
    expect((await expireWorkers(db, operatorOrigin())).moved).toBe(1);
    expect((await sync(db, "two", CAN_RESUME)).start).toEqual([]);
    await confirmRoom(db, tenantId, id, room(2).roomName);
    const [start] = (await sync(db, "two", CAN_RESUME)).start;
    expect(start).toMatchObject({ ...room(2), generation: 2, gapCount: 0 });
    const resume = { room_number: 2, gap_count: 0, gap_seconds: 0 };
    const calls = [report(id, "joined", 1, { generation: 2, resume })];
    expect(await sync(db, "two", { ...CAN_RESUME, calls })).toMatchObject({ start: [], move: [], end: [] });
  });

  test("by another key, tenant or environment: not found, and not written", async () => {
    const stranger = (await seedCaller(db, await seedTenant(db))).caller;
    const { other, caller, id, room, state } = await started();
    const inTest = { ...caller, environment: "test" } as const;
    for (const one of [other, stranger, inTest]) {
      expect(await findCallToResume(db, one, id)).toBeNull();
      expect((await resumeCall(db, room(2), one, null)).kind).toBe("stale");
    }
    expect(await findCallToResume(db, caller, newId("ses", new Date(), random))).toBeNull();
    expect(await state()).toMatchObject({ room: "exists", roomNumber: 1 });
    expect((await resumeCall(db, room(2), caller, null)).kind).toBe("written");
  });

  test("ended, not started, with a revoked key, or at a worker that cannot move it: not written", async () => {
    const cases: [string, () => Promise<Awaited<ReturnType<typeof world>>>][] = [
      ["not started", world],
      [
        "ended",
        async () => {
          const call = await started();
          await call.release("manual");
          return call;
        },
      ],
      [
        "another worker",
        async () => {
          const call = await world(["echo"]);
          await call.syncOne("started", 1);
          return call;
        },
      ],
      [
        "a revoked key",
        async () => {
          const call = await started();
          await client`update api_keys set revoked_at = now() where id = ${call.child.id}`;
          return call;
        },
      ],
    ];
    for (const [name, prepare] of cases) {
      const { caller, room, state } = await prepare();
      expect([name, (await resumeCall(db, room(2), caller, null)).kind]).toEqual([name, "stale"]);
      expect(await state()).toMatchObject({ roomNumber: 1 });
    }
  });

  test("a call with an agent, in its own room or in one of the service: not written", async () => {
    const { child, avatarId, room } = await started();
    const brought = { url: "wss://x", token: Buffer.from("x"), digest: Buffer.alloc(32, 1), agentIdentity: "agent" };
    for (const agent of [
      { brought, awaitsAgent: false },
      { brought: null, awaitsAgent: true },
    ]) {
      const request = callRequest(child, avatarId, agent);
      await sync(db, "one", { ...CAN_RESUME, slots: 4 });
      expect((await openCall(db, request, child, null)).kind).toBe("written");
      await client`update usage_sessions set started_at = now(), status = 'started' where id = ${request.id}`;
      expect((await findCallToResume(db, child, request.id))?.hasAgent).toBe(true);
      const next = { ...room(2), sessionId: request.id };
      expect((await resumeCall(db, next, child, null)).kind).toBe("stale");
    }
  });

  test("a start whose first room fails late: the call goes on", async () => {
    const { tenantId, child, id, caller, room, state } = await started();
    await resumeCall(db, room(2), caller, null);
    await failCall(db, tenantId, id, null, child, operatorOrigin());
    expect(await state()).toMatchObject({ status: "started", room: "create" });
  });
});

describe("a release", () => {
  test("a release because the page was left: the call goes on; a release by the person: the call ends", async () => {
    for (const reason of ["page_hide", "unmount", "disconnected"]) {
      const { release, state } = await started();
      expect(await release(reason)).toEqual({ kind: "written", hasEnded: false, roomName: null });
      expect(await state()).toMatchObject({ status: "started", room: "exists" });
      expect(await release("manual")).toMatchObject({ hasEnded: true });
      expect(await state()).toMatchObject({ status: "released", room: "delete" });
    }
    for (const reason of ["superseded", "idle_timeout", null]) {
      expect(await (await started()).release(reason)).toMatchObject({ hasEnded: true });
    }
  });

  test("a release because the page was left before the start, or at a worker that cannot move the call: the call ends", async () => {
    expect(await (await world()).release("page_hide")).toMatchObject({ hasEnded: true });
    const old = await world(["echo"]);
    await old.syncOne("started", 1);
    expect(await old.release("page_hide")).toMatchObject({ hasEnded: true });
  });
});

describe("the absences of the person", () => {
  test("a free absence: its seconds do not count, also by the clock; the session stays open", async () => {
    const { tenantId, id, syncOne, state, release } = await started();
    await ageCalls(db, [id], 10);
    await syncOne("started", 11);
    await syncOne("joined", 11, { room_number: 1, gap_count: 1, gap_seconds: 0 });
    expect(await state()).toMatchObject({ isCounting: false, gapCount: 1, gapSeconds: 0 });
    // Reports of an absence are written as often as others.
    await client`update usage_sessions set expires_at = now() + interval '49 seconds' where id = ${id}`;
    await syncOne("joined", 11, { room_number: 1, gap_count: 1, gap_seconds: 11 });
    expect(await state()).toMatchObject({ isCounting: false, gapSeconds: 11, isFresh: true });
    await ageCalls(db, [id], 40);
    await release("manual");
    expect(await state()).toMatchObject({ status: "released", used: 11 });
    expect(await findCreditDrift(db, tenantId, 10)).toEqual([]);
  });

  test("late or repeated reports: absences only grow; the next worker gets them", async () => {
    const { id, syncOne, state } = await started();
    await syncOne("joined", 1, { room_number: 1, gap_count: 2, gap_seconds: 30 });
    await syncOne("started", 1, { room_number: 1, gap_count: 1, gap_seconds: 20 });
    await syncOne("started", 1, { room_number: 1, gap_count: 2, gap_seconds: 35 });
    expect(await state()).toMatchObject({ gapCount: 2, gapSeconds: 30, isCounting: true });
    await syncOne("joined", 1, { room_number: 1, gap_count: 3, gap_seconds: 35 });
    expect(await state()).toMatchObject({ gapCount: 3, gapSeconds: 35 });
    await endLease(db, "one");
    await sync(db, "two", CAN_RESUME);
    await expireWorkers(db, operatorOrigin());
    const [start] = (await sync(db, "two", CAN_RESUME)).start;
    expect(start).toMatchObject({ sessionId: id, gapCount: 3, gapSeconds: 35 });
  });
});
