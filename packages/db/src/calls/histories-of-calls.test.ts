/** The history of a conversation: the next worker of the call gets it, and the end of the call erases it. */
import { describe, expect, test } from "bun:test";
import type { SessionId } from "@realtime-avatar/domain/id";
import { endLease, readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { sweepSessions } from "../credits/usage-sessions.ts";
import { releaseCall } from "./calls.ts";
import { endDueCalls, endLostCall, expireWorkers } from "./reconcile.ts";
import { claimTranscripts, finishTranscript, writeTranscript } from "./transcripts.ts";

const { db } = await serviceDatabase();
const { client } = db;
const RECEIVER = Buffer.from("sealed receiver");

const world = async () => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await client`delete from call_transcripts`;
  await client`delete from call_segments`;
  const tenantId = await seedTenant(db, { live: 1_000_000 });
  const { caller } = await seedCaller(db, tenantId);
  const avatarId = await readyAvatar(db, caller);
  await sync(db, "one", { slots: 4 });
  const start = async (changes = {}) => {
    const id = await seedCall(db, caller, avatarId, changes);
    await sync(db, "one", { slots: 4, calls: [report(id, "started", 1)] });
    return id;
  };
  return { tenantId, caller, avatarId, start };
};
const say = (sessionId: SessionId, texts: string[], fields: { speaking?: string; [name: string]: unknown } = {}) => {
  const { speaking, ...rest } = fields;
  return writeTranscript(db, {
    ...{ workerId: "one", sessionId, generation: 1, first: 0, isComplete: false },
    speaking: speaking === undefined ? null : Buffer.from(speaking),
    segments: texts.map((text) => Buffer.from(text)),
    ...rest,
  });
};
/** The worker is lost, and another one gets the call. Returns the start at the new worker. */
const move = async (from = "one", to = "two"): Promise<string[]> => {
  await endLease(db, from);
  await sync(db, to, { slots: 1 });
  expect(await expireWorkers(db, operatorOrigin())).toMatchObject({ moved: 1 });
  const { start } = await sync(db, to, { slots: 1 });
  return (start[0]?.history ?? []).map(String);
};
const left = async (id: SessionId) => {
  const [row] = await client`
    select has_history, speaking, (select count(*)::integer from call_segments where session_id = ${id}) as segments
    from calls where session_id = ${id}`;
  return { ...row };
};
const NOTHING = { has_history: false, speaking: null, segments: 0 };

describe("a worker that is lost", () => {
  test("while the avatar speaks: the next worker gets all segments, and the heard part of the answer", async () => {
    const id = await (await world()).start();
    await say(id, ["a", "b"], { speaking: "c" });
    await say(id, [], { first: 2, speaking: "c d" });
    expect(await move()).toEqual(["a", "b", "c d"]);
    expect(await say(id, ["late"], { first: 2 })).toBeNull();
    expect(await left(id)).toEqual({ has_history: true, speaking: null, segments: 3 });
    expect(await say(id, ["e"], { workerId: "two", generation: 2 })).toBe(1);
    const rows = await client`select generation, n from call_segments where session_id = ${id} order by generation, n`;
    expect(rows.map(({ generation, n }) => [generation, n])).toEqual([
      [1, 0],
      [1, 1],
      [1, 2],
      [2, 0],
    ]);
  });

  test("after the avatar has spoken: the whole answer is stored once", async () => {
    const id = await (await world()).start();
    await say(id, ["a"], { speaking: "b" });
    await say(id, ["b c"], { first: 1 });
    expect(await move()).toEqual(["a", "b c"]);
  });

  test("in a long call: the next worker gets the newest 64 segments; the others are deleted", async () => {
    const id = await (await world()).start();
    const all = Array.from({ length: 70 }, (_, n) => `${n}`);
    expect(await say(id, all.slice(0, 40))).toBe(40);
    expect(await say(id, all.slice(40), { first: 40 })).toBe(70);
    expect(await left(id)).toMatchObject({ segments: 64 });
    expect(await say(id, ["70"], { first: 70 })).toBe(71);
    expect(await move()).toEqual([...all.slice(7), "70"]);
  });

  test("in a call with long turns: the newest 256 KiB are stored", async () => {
    const id = await (await world()).start();
    for (let n = 0; n < 20; n++) await say(id, ["x".repeat(16_384)], { first: n });
    expect(await left(id)).toMatchObject({ segments: 16 });
  });

  test("without a next worker, in a call with a transcript: the heard part of the last answer is delivered", async () => {
    const one = await world();
    const id = await one.start({ transcript: RECEIVER });
    await say(id, ["a"], { speaking: "b" });
    await endLease(db, "one");
    expect(await expireWorkers(db, operatorOrigin())).toMatchObject({ ended: 1 });
    await client`update call_transcripts set due_at = now()`;
    const claim = { lease: "x", leaseSeconds: 60, after: "", limit: 1, perTenant: 1, busyTenants: [] };
    const [claimed] = await claimTranscripts(db, claim);
    expect(claimed?.segments.map(String)).toEqual(["a", "b"]);
    expect(await left(id)).toEqual({ has_history: false, speaking: null, segments: 2 });
    await finishTranscript(
      db,
      { tenantId: one.tenantId, sessionId: id },
      { lease: "x", delayMs: null, isAttempt: true },
    );
    expect(await left(id)).toEqual(NOTHING);
  });
});

describe("the end of a call, for its conversation: erases it", () => {
  const ends: [string, (id: SessionId, one: Awaited<ReturnType<typeof world>>) => Promise<unknown>][] = [
    [
      "a release",
      (id, { caller }) => releaseCall(db, { kind: "session", id }, { reason: null }, caller, operatorOrigin(), null),
    ],
    ["the worker", (id) => sync(db, "one", { slots: 4, calls: [report(id, "ended", 3, { reason: "idle" })] })],
    ["the operator", (id, { tenantId }) => endLostCall(db, tenantId, id, "failed", operatorOrigin())],
    [
      "a worker that does not come back",
      async () => {
        await endLease(db, "one");
        await expireWorkers(db, operatorOrigin());
      },
    ],
    [
      "the reconciler",
      async (id) => {
        await client`update usage_sessions set must_end = true where id = ${id}`;
        await endDueCalls(db, 10, operatorOrigin());
      },
    ],
    [
      "the sweep",
      async (id, { tenantId }) => {
        await client`update usage_sessions set expires_at = now() - interval '1 second', sweep_at = '-infinity' where id = ${id}`;
        await sweepSessions(db, tenantId, operatorOrigin());
      },
    ],
  ];
  test.each(ends)("ended by %s", async (_, end) => {
    const one = await world();
    const id = await one.start();
    await say(id, ["a"], { speaking: "b" });
    await end(id, one);
    expect(await left(id)).toEqual(NOTHING);
    expect(await say(id, ["late"], { first: 1 })).toBeNull();
    expect(await left(id)).toEqual(NOTHING);
  });

  test("reports that race with the end: no segment remains", async () => {
    const one = await world();
    for (let round = 0; round < 8; round++) {
      const id = await one.start();
      const reports = Array.from({ length: 4 }, (_, first) => say(id, ["a"], { first, speaking: "b" }));
      const end = releaseCall(db, { kind: "session", id }, { reason: null }, one.caller, operatorOrigin(), null);
      await Promise.all([...reports, end]);
      expect(await left(id)).toEqual(NOTHING);
    }
  });

  test("a call that an older release without histories has ended: the next pass of the reconciler erases its history", async () => {
    const one = await world();
    const id = await one.start();
    await say(id, ["a"]);
    const segments = await client`select * from call_segments where session_id = ${id}`;
    await releaseCall(db, { kind: "session", id }, { reason: null }, one.caller, operatorOrigin(), null);
    await client`insert into call_segments ${client(segments.map((row) => ({ ...row })))}`;
    await client`update calls set has_history = true, speaking = 'x' where session_id = ${id}`;
    await endDueCalls(db, 10, operatorOrigin());
    expect(await left(id)).toEqual(NOTHING);
  });
});

describe("a call that loses processes", () => {
  const moveTo = async (to: string) => {
    await sync(db, to, { slots: 1 });
    return expireWorkers(db, operatorOrigin());
  };
  const playing = (id: SessionId, worker: string, generation: number, fields = {}) =>
    sync(db, worker, { slots: 1, calls: [report(id, "started", 1, { generation, ...fields })] });

  test("a process at its worker, and then the worker: the call fails, and no other worker gets it", async () => {
    const id = await (await world()).start();
    await sync(db, "one", { slots: 4, calls: [report(id, "joining", 1, { lost_processes: 1 })] });
    await playing(id, "one", 1, { lost_processes: 1 });
    await endLease(db, "one");
    expect(await moveTo("two")).toMatchObject({ moved: 0, ended: 1 });
    const [session] = await client`select reason from usage_sessions where id = ${id}`;
    expect(session?.["reason"]).toBe("failed");
  });

  test("a worker: the next worker gets the number of losses, because the call fails with the next loss", async () => {
    const id = await (await world()).start();
    await endLease(db, "one");
    expect(await moveTo("two")).toMatchObject({ moved: 1 });
    const { start } = await sync(db, "two", { slots: 1 });
    expect(start).toMatchObject([{ generation: 2, isHandedOver: false, lostProcesses: 1 }]);
    await playing(id, "two", 2);
    await endLease(db, "two");
    expect(await moveTo("three")).toMatchObject({ moved: 0, ended: 1 });
  });

  test("no process, because its workers stop one after another: the call goes on, and survives one later loss", async () => {
    const id = await (await world()).start();
    const workers = ["one", "two", "three", "four"];
    for (const [at, to] of workers.slice(1).entries()) {
      await sync(db, to, { slots: 1 });
      await sync(db, workers[at] as string, { slots: 0 });
      expect(await expireWorkers(db, operatorOrigin())).toMatchObject({ moved: 1, ended: 0 });
      const { start } = await sync(db, to, { slots: 1 });
      expect(start).toMatchObject([{ generation: at + 2, isHandedOver: true, lostProcesses: 0 }]);
      await playing(id, to, at + 2);
    }
    await endLease(db, "four");
    expect(await moveTo("five")).toMatchObject({ moved: 1 });
  });
});
