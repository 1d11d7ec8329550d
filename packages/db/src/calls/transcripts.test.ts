/**
 * Transcripts in the database: each reported segment is stored once, each end of a call makes one delivery, and a
 * delivery deletes the transcript.
 */
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
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { sweepSessions } from "../credits/usage-sessions.ts";
import { failCall, openCall, releaseCall } from "./calls.ts";
import { endDueCalls, endLostCall, expireWorkers } from "./reconcile.ts";
import { claimTranscripts, finishTranscript, transcriptStats, writeTranscript } from "./transcripts.ts";

const database = await serviceDatabase();
const { db } = database;
await mutate(db);
const { client } = db;
const RECEIVER = Buffer.from("sealed receiver");
const CLAIM = { lease: "one", leaseSeconds: 60, after: "", limit: 16, perTenant: 4, busyTenants: [] };

const world = async (environment: "live" | "test" = "live") => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await client`delete from call_transcripts`;
  await client`delete from call_segments`;
  const tenantId = await seedTenant(db, { live: 1_000_000, test: 1_000_000 });
  const { caller, record } = await seedCaller(db, tenantId, { environment });
  const avatarId = await readyAvatar(db, caller);
  await sync(db, "one", { slots: 10 });
  const seed = (changes = {}) => seedCall(db, caller, avatarId, { transcript: RECEIVER, ...changes });
  return { tenantId, caller, record, avatarId, seed };
};
const say = (sessionId: SessionId, texts: string[], fields = {}) =>
  writeTranscript(db, {
    ...{ workerId: "one", sessionId, generation: 1, first: 0, isComplete: false, speaking: null },
    segments: texts.map((text) => Buffer.from(text)),
    ...fields,
  });
const said = async (sessionId: SessionId) =>
  (
    await client<{ segment: Buffer }[]>`
      select segment from call_segments where session_id = ${sessionId} order by generation, n`
  ).map(({ segment }) => segment.toString());
const rows = async () => {
  const [row] = await client`
    select (select count(*)::integer from call_transcripts) as transcripts,
      (select count(*)::integer from call_segments) as segments`;
  return { ...row };
};
/** Moves the due times of waiting transcripts this many seconds into the past. */
const wait = (seconds: number) =>
  client`update call_transcripts set due_at = due_at - make_interval(secs => ${seconds}),
    leased_until = leased_until - make_interval(secs => ${seconds})`;
const claim = (changes = {}) => claimTranscripts(db, { ...CLAIM, ...changes });
const release = (id: SessionId, { caller }: Awaited<ReturnType<typeof world>>) =>
  releaseCall(db, { kind: "session", id }, { reason: null }, caller, operatorOrigin(), null);

describe("the segments of a call", () => {
  test("reported twice, overlapping and in order: each is stored once", async () => {
    const one = await world();
    const id = await one.seed();
    expect((await sync(db, "one", { slots: 10 })).start).toMatchObject([{ sessionId: id, hasTranscript: true }]);
    expect(await say(id, ["a", "b"])).toBe(2);
    expect(await say(id, ["a", "b"])).toBe(2);
    expect(await say(id, ["b", "c"], { first: 1 })).toBe(3);
    expect(await say(id, [], { first: 3 })).toBe(3);
    expect(await said(id)).toEqual(["a", "b", "c"]);
  });

  test("reported with a gap: nothing is written, and the expected place is returned", async () => {
    const one = await world();
    const id = await one.seed();
    await say(id, ["a"]);
    expect(await say(id, ["d"], { first: 3 })).toBe(1);
    expect(await said(id)).toEqual(["a"]);
  });

  test("reported by several requests at once: each is stored once", async () => {
    const one = await world();
    const id = await one.seed();
    const results = await Promise.all(Array.from({ length: 8 }, () => say(id, ["a", "b"])));
    expect(new Set(results)).toEqual(new Set([2]));
    expect(await said(id)).toEqual(["a", "b"]);
  });

  test("of another worker, or another generation: refused", async () => {
    const one = await world();
    const id = await one.seed();
    await sync(db, "two", { slots: 1 });
    expect(await say(id, ["a"], { workerId: "two" })).toBeNull();
    expect(await say(id, ["a"], { workerId: "unknown" })).toBeNull();
    expect(await say(id, ["a"], { generation: 2 })).toBeNull();
    expect(await rows()).toEqual({ transcripts: 1, segments: 0 });
  });

  test("of a call that moved to another worker: those of both are stored in order, and marked as incomplete", async () => {
    const one = await world();
    const id = await one.seed();
    await sync(db, "one", { slots: 10, calls: [report(id, "started", 1)] });
    await say(id, ["a", "b"]);
    await endLease(db, "one");
    await sync(db, "two", { slots: 1 });
    expect(await expireWorkers(db, operatorOrigin())).toMatchObject({ moved: 1 });
    expect(await say(id, ["lost"], { first: 2 })).toBeNull();
    expect(await say(id, ["c"], { workerId: "two", generation: 2, isComplete: true })).toBe(1);
    await sync(db, "two", { slots: 1, calls: [report(id, "ended", 5, { generation: 2, reason: "idle" })] });
    const [claimed] = await claim();
    expect(claimed?.segments.map(String)).toEqual(["a", "b", "c"]);
    expect(claimed?.isTruncated).toBe(true);
  });

  test("of a call that one worker hands over to the next: those of both are stored, and marked as complete", async () => {
    const one = await world();
    const id = await one.seed();
    await sync(db, "one", { slots: 10, calls: [report(id, "started", 1)] });
    await say(id, ["a"]);
    await sync(db, "two", { slots: 1 });
    await sync(db, "one", { slots: 0 });
    expect(await expireWorkers(db, operatorOrigin())).toMatchObject({ moved: 1 });
    await say(id, ["b"], { workerId: "two", generation: 2, isComplete: true });
    await sync(db, "two", { slots: 1, calls: [report(id, "ended", 5, { generation: 2, reason: "idle" })] });
    const [claimed] = await claim();
    expect([claimed?.segments.map(String), claimed?.isTruncated]).toEqual([["a", "b"], false]);
  });

  test("more than 2,000, or more than 256 KiB: the rest is dropped; the worker continues", async () => {
    const one = await world();
    const many = await one.seed();
    for (let first = 0; first < 1984; first += 64)
      expect(await say(many, Array(64).fill("x"), { first })).toBe(first + 64);
    expect(await say(many, Array(16).fill("x"), { first: 1984 })).toBe(2000);
    expect(await say(many, ["x"], { first: 2000 })).toBe(2001);
    expect(await say(many, ["x"], { first: 2001, isComplete: true })).toBe(2002);
    expect(await said(many)).toHaveLength(2000);
    const long = await one.seed();
    for (let first = 0; first < 32; first++) await say(long, ["x".repeat(8192)], { first });
    expect(await say(long, ["x"], { first: 32 })).toBe(33);
    expect(await said(long)).toHaveLength(32);
    await release(long, one);
    expect(await say(long, [], { first: 33, isComplete: true })).toBe(33);
    const [claimed] = await claim();
    expect(claimed).toMatchObject({ sessionId: long, isTruncated: true, startedAt: null });
    expect(claimed?.segments).toHaveLength(32);
  });
});

describe("the end of a call", () => {
  const ended = (id: SessionId, reason: "idle" | "session_cap" | "failed" = "idle") =>
    sync(db, "one", { slots: 10, calls: [report(id, "ended", 5, { reason })] });
  const started = async (one: Awaited<ReturnType<typeof world>>, changes = {}) => {
    const id = await one.seed(changes);
    await sync(db, "one", { slots: 10, calls: [report(id, "started", 1)] });
    await say(id, ["a"]);
    return id;
  };
  type World = Awaited<ReturnType<typeof world>>;
  test.each<[string, (id: SessionId, one: World) => Promise<unknown>, object?]>([
    ["reported by its worker", (id) => ended(id)],
    ["reported as failed", (id) => ended(id, "failed")],
    ["released", (id, one) => release(id, one)],
    ["by the operator", (id, one) => endLostCall(db, one.tenantId, id, "failed", operatorOrigin())],
    [
      "by the clock",
      async (id) => {
        await ageCalls(db, [id], 200);
        await endDueCalls(db, 10, operatorOrigin());
      },
    ],
    [
      "by the end of its key",
      async (_, one) => {
        await client`update api_keys set expires_at = now() - interval '1 second' where id = ${one.caller.id}`;
        await endDueCalls(db, 10, operatorOrigin());
      },
    ],
    [
      "after the loss of its worker, without another one",
      async () => {
        await endLease(db, "one");
        await expireWorkers(db, operatorOrigin());
      },
    ],
    [
      "by the sweep",
      async (id, one) => {
        await client`update usage_sessions set expires_at = now() - interval '1 second', sweep_at = '-infinity' where id = ${id}`;
        await sweepSessions(db, one.tenantId, operatorOrigin());
      },
    ],
  ])("%s, repeated: one delivery", async (_, end) => {
    const one = await world();
    const id = await started(one);
    await wait(1);
    expect(await claim()).toEqual([]);
    await end(id, one);
    await end(id, one);
    const [session] = await client`select ended_at is not null as has_ended from usage_sessions where id = ${id}`;
    expect({ ...session }).toEqual({ has_ended: true });
    await wait(8);
    const claimed = await claim();
    expect(claimed).toMatchObject([
      {
        ...{ tenantId: one.tenantId, sessionId: id, attemptCount: 0, avatarId: one.avatarId, mode: "avatar" },
        ...{ startedAt: expect.any(Date), endedAt: expect.any(Date), metadata: {}, isTruncated: true },
      },
    ]);
    expect(claimed[0]?.segments.map(String)).toEqual(["a"]);
    expect(Buffer.from(claimed[0]?.receiver ?? []).toString()).toBe("sealed receiver");
    await wait(59);
    expect(await claim()).toEqual([]);
  });

  test("after its worker has reported the last segment: due at once, and complete", async () => {
    const one = await world();
    const id = await started(one);
    expect(await say(id, ["b"], { first: 1, isComplete: true })).toBe(2);
    await ended(id);
    expect(await claim()).toMatchObject([{ sessionId: id, isTruncated: false }]);
  });

  test("released while the avatar speaks: only its worker adds the last words", async () => {
    const one = await world();
    const id = await started(one);
    await release(id, one);
    await sync(db, "two", { slots: 1 });
    expect(await claim()).toEqual([]);
    expect(await say(id, ["no"], { first: 1, workerId: "two", isComplete: true })).toBeNull();
    expect(await say(id, ["b"], { first: 1, isComplete: true })).toBe(2);
    const [claimed] = await claim();
    expect(claimed?.segments.map(String)).toEqual(["a", "b"]);
    expect(claimed?.isTruncated).toBe(false);
    expect(await say(id, ["too late"], { first: 2 })).toBeNull();
  });

  test("released at a worker that is found lost: due at once, and incomplete", async () => {
    const one = await world();
    const [id, other] = [await started(one), await started(one)];
    await release(id, one);
    await sync(db, "two", { slots: 10 });
    expect(await claim()).toEqual([]);
    await endLease(db, "one", 1);
    await expireWorkers(db, operatorOrigin());
    expect(await claim()).toMatchObject([{ sessionId: id, isTruncated: true }]);
    await sync(db, "two", { slots: 10 });
    await release(other, one);
    expect(await claim()).toEqual([]);
  });

  test("lost with its worker: due at once, and incomplete", async () => {
    const one = await world();
    const id = await started(one);
    await endLease(db, "one");
    await expireWorkers(db, operatorOrigin());
    expect(await claim()).toMatchObject([{ sessionId: id, isTruncated: true }]);
  });

  test("the person did not join: one delivery without a start", async () => {
    const one = await world();
    const id = await one.seed();
    await release(id, one);
    await wait(8);
    expect(await claim()).toMatchObject([{ sessionId: id, startedAt: null, isTruncated: false, segments: [] }]);
  });

  test("its room could not be created: no delivery, and no stored transcript", async () => {
    const one = await world();
    const request = callRequest(one.caller, one.avatarId, { transcript: RECEIVER });
    await openCall(db, request, one.caller, null);
    expect(await rows()).toEqual({ transcripts: 1, segments: 0 });
    await failCall(db, one.tenantId, request.id, null, one.caller, operatorOrigin());
    expect(await rows()).toEqual({ transcripts: 0, segments: 0 });
  });

  test("by a function without transcripts: delivered within ten minutes", async () => {
    const one = await world();
    const id = await started(one);
    await wait(600);
    expect(await claim()).toEqual([]);
    await client`
      update usage_sessions set status = 'released', ended_at = now(), is_counted = false where id = ${id}`;
    await wait(599);
    expect(await claim()).toEqual([]);
    await wait(1);
    expect(await claim()).toMatchObject([{ sessionId: id }]);
  });
});

describe("a delivery", () => {
  const due = async (one: Awaited<ReturnType<typeof world>>) => {
    const id = await one.seed();
    await say(id, ["a", "b"]);
    await release(id, one);
    await wait(8);
    return id;
  };

  test("that has succeeded or is given up: the transcript is deleted", async () => {
    const one = await world();
    const id = await due(one);
    const call = { tenantId: one.tenantId, sessionId: id };
    await claim();
    expect(await finishTranscript(db, call, { lease: "other", delayMs: null, isAttempt: true })).toBe(false);
    expect(await rows()).toEqual({ transcripts: 1, segments: 2 });
    expect(await finishTranscript(db, call, { lease: "one", delayMs: null, isAttempt: true })).toBe(true);
    expect(await rows()).toEqual({ transcripts: 0, segments: 0 });
  });

  test("that has failed: repeated after its pause; handed back: repeated at once", async () => {
    const one = await world();
    const call = { tenantId: one.tenantId, sessionId: await due(one) };
    const [first] = await claim();
    expect(await finishTranscript(db, call, { lease: "one", delayMs: 5000, isAttempt: true })).toBe(true);
    expect(await claim({ lease: "two" })).toEqual([]);
    await wait(5);
    const [second] = await claim({ lease: "two" });
    expect(second).toEqual({ ...(first as NonNullable<typeof first>), attemptCount: 1 });
    expect(await finishTranscript(db, call, { lease: "two", delayMs: 0, isAttempt: false })).toBe(true);
    expect(await claim()).toMatchObject([{ attemptCount: 1 }]);
  });

  test("whose worker is killed: claimed again after its lease", async () => {
    const one = await world();
    const id = await due(one);
    await claim();
    await wait(60);
    expect(await claim({ lease: "two" })).toMatchObject([{ sessionId: id, attemptCount: 0 }]);
    expect((await transcriptStats(db)).oldestDueSeconds).toBe(0);
    await wait(90);
    // Additional seconds can pass on a busy machine.
    expect((await transcriptStats(db)).oldestDueSeconds).toBeWithin(29, 60);
  });

  test("claimed by several workers at once: each by one", async () => {
    const one = await world();
    const ids = await Promise.all(Array.from({ length: 4 }, () => due(one)));
    const claims = await Promise.all(["a", "b", "c"].map((lease) => claim({ lease })));
    expect(
      claims
        .flat()
        .map(({ sessionId }) => sessionId)
        .sort(),
    ).toEqual(ids.sort());
  });

  test("of a tenant with many: at most its share, and other tenants are served", async () => {
    const flood = await world();
    for (let at = 0; at < 8; at++) await due(flood);
    const { caller } = await seedCaller(db, await seedTenant(db, { live: 1_000_000 }));
    const avatarId = await readyAvatar(db, caller);
    const id = await seedCall(db, caller, avatarId, { transcript: RECEIVER });
    await releaseCall(db, { kind: "session", id }, { reason: null }, caller, operatorOrigin(), null);
    await wait(8);
    const tenantsOf = (claimed: Awaited<ReturnType<typeof claim>>) => claimed.map(({ tenantId }) => tenantId);
    const both = tenantsOf(await claim({ limit: 5 }));
    expect(both.filter((tenant) => tenant === flood.tenantId)).toHaveLength(4);
    expect(both).toContain(caller.tenantId);
    expect(await claim({ busyTenants: [flood.tenantId] })).toEqual([]);
    expect(tenantsOf(await claim({ after: flood.tenantId }))).toEqual([]);
    expect(tenantsOf(await claim())).toEqual(Array(4).fill(flood.tenantId));
  });

  test("1,000 of a tenant waiting for another attempt: a call with a transcript is refused, a call without is not", async () => {
    const one = await world();
    const id = await due(one);
    const fill = (count: number) =>
      client.unsafe(`insert into call_transcripts (tenant_id, session_id, receiver, due_at, attempt_count)
        select '${one.tenantId}', 'ses_' || lpad(translate(to_hex(i), 'ilou', 'jkmn'), 26, '0'), 'x', now() + interval '1 hour', 1
        from generate_series(1, ${count}) i on conflict do nothing`);
    await fill(999);
    const open = (transcript: Uint8Array | null) =>
      openCall(db, callRequest(one.caller, one.avatarId, { transcript }), one.caller, null);
    expect((await open(RECEIVER)).kind).toBe("written");
    await fill(1000);
    expect((await open(RECEIVER)).kind).toBe("too_many_transcripts");
    expect((await open(null)).kind).toBe("written");
    const other = await seedCaller(db, await seedTenant(db, { live: 1_000_000 }));
    await seedCall(db, other.caller, await readyAvatar(db, other.caller), { transcript: RECEIVER });
    expect(await claim()).toMatchObject([{ sessionId: id }]);
  });
});
