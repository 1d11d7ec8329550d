/**
 * Kept transcripts in the database: each purpose of a transcript ends separately. A transcript without a purpose is
 * deleted with its segments.
 */
import { describe, expect, test } from "bun:test";
import { MAX_TRANSCRIPT_BYTES, MAX_TRANSCRIPT_SEGMENTS } from "@realtime-avatar/domain/calls/transcript";
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import { endLease, readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { auditEvent } from "../audit/audit-events.ts";
import { changeTenantSettings, findTenantSettings } from "../tenants/settings.ts";
import { releaseCall } from "./calls.ts";
import { expireWorkers } from "./reconcile.ts";
import {
  claimTranscripts,
  deleteKeptTranscript,
  findKeptTranscript,
  finishTranscript,
  sweepKeptTranscripts,
  transcriptStats,
  writeTranscript,
} from "./transcripts.ts";

const database = await serviceDatabase();
const { db } = database;
const { client } = db;
const RECEIVER = Buffer.from("sealed receiver");
const CLAIM = { lease: "one", leaseSeconds: 60, after: "", limit: 16, perTenant: 4, busyTenants: [] };

const keep = (tenantId: TenantId, keepsTranscripts = true, environment: "live" | "test" = "live") => {
  const target = { tenantId, environment };
  const event = auditEvent("settings.updated", { ...target, id: tenantId }, operatorOrigin(), ["keepTranscripts"]);
  return changeTenantSettings(db, { ...target, keepsTranscripts, versions: null }, null, event);
};
const world = async () => {
  await client`delete from fleet.avatar_slots`;
  await client`delete from fleet.avatar_workers`;
  await client`delete from call_transcripts`;
  await client`delete from call_segments`;
  const tenantId = await seedTenant(db, { live: 1_000_000, test: 1_000_000 });
  const { caller } = await seedCaller(db, tenantId, { environment: "live" });
  const avatarId = await readyAvatar(db, caller);
  await sync(db, "one", { slots: 10 });
  const call = async (changes = {}) => {
    const id = await seedCall(db, caller, avatarId, changes);
    await sync(db, "one", { slots: 10, calls: [report(id, "started", 1)] });
    return id;
  };
  const end = (id: SessionId) =>
    releaseCall(db, { kind: "session", id }, { reason: null }, caller, operatorOrigin(), null);
  const find = async (id: SessionId, owner = caller) => {
    const found = await findKeptTranscript(db, owner, id);
    return found && { ...found, segments: found.segments.map(String) };
  };
  return { tenantId, caller, avatarId, call, end, find };
};
const say = (sessionId: SessionId, texts: string[], fields = {}) =>
  writeTranscript(db, {
    ...{ workerId: "one", sessionId, generation: 1, first: 0, isComplete: false, speaking: null },
    segments: texts.map((text) => Buffer.from(text)),
    ...fields,
  });
const rows = async () => {
  const [row] = await client`
    select (select count(*)::integer from call_transcripts) as transcripts,
      (select count(*)::integer from call_segments) as segments`;
  return `${row?.["transcripts"]} ${row?.["segments"]}`;
};
/** Moves the ends of calls this many seconds into the past. */
const wait = (seconds: number) => client`
  with sessions as (update usage_sessions set ended_at = ended_at - make_interval(secs => ${seconds}) where ended_at is not null)
  update call_transcripts set due_at = due_at - make_interval(secs => ${seconds}),
    ended_at = ended_at - make_interval(secs => ${seconds})`;
const claim = () => claimTranscripts(db, CLAIM);

describe("the setting", () => {
  test("off by default; on for one environment: new calls there have a transcript, which the worker must send", async () => {
    const one = await world();
    expect(await findTenantSettings(db, one.caller)).toMatchObject({ version: 1, updatedAt: null });
    const before = await one.call();
    expect(await keep(one.tenantId, true, "test")).toMatchObject({ kind: "written" });
    const other = await one.call();
    expect(await rows()).toBe("0 0");
    await keep(one.tenantId);
    expect(await findTenantSettings(db, one.caller)).toMatchObject({ keepsTranscripts: true });
    const id = await seedCall(db, one.caller, one.avatarId);
    const { start } = await sync(db, "one", { slots: 10 });
    expect(start.map(({ sessionId, hasTranscript }) => [sessionId, hasTranscript])).toEqual(
      expect.arrayContaining([
        [before, false],
        [other, false],
        [id, true],
      ]),
    );
    await keep(one.tenantId, false);
    await one.call();
    expect(await rows()).toBe("1 0");
    expect(await one.find(before)).toMatchObject({ isKept: false });
  });

  test("changed by eight requests at once: one row, and an audit event for each change of the value", async () => {
    const { tenantId } = await world();
    await Promise.all(Array.from({ length: 8 }, () => keep(tenantId)));
    await keep(tenantId, false);
    const events = await client`
      select action, changed_fields from audit_events where tenant_id = ${tenantId} and action = 'settings.updated'`;
    expect(events.map((event) => event["changed_fields"])).toEqual([["keepTranscripts"], ["keepTranscripts"]]);
  });

  test("of a tenant that does not exist: not found", async () => {
    expect(await keep("ten_01h455vb4pex5vsknk084sn02q" as TenantId)).toEqual({ kind: "not_found" });
  });
});

describe("a kept transcript", () => {
  test("while the call is open: has the segments so far; after the end: stored, and never due", async () => {
    const one = await world();
    await keep(one.tenantId);
    const id = await one.call();
    await say(id, ["a"]);
    expect(await one.find(id)).toEqual({
      isKept: true,
      endedAt: null,
      isTruncated: false,
      isOpen: true,
      segments: ["a"],
    });
    await one.end(id);
    expect(await one.find(id)).toMatchObject({ isOpen: true, endedAt: expect.any(Date) });
    expect(await say(id, ["b"], { first: 1, isComplete: true })).toBe(2);
    expect(await one.find(id)).toMatchObject({ isOpen: false, isTruncated: false, segments: ["a", "b"] });
    await wait(3600);
    expect(await claim()).toEqual([]);
    expect((await transcriptStats(db)).oldestDueSeconds).toBe(0);
    expect(await one.find(id)).toMatchObject({ isKept: true, segments: ["a", "b"] });
  });

  test("whose worker reports nothing after the end: final and truncated after eight seconds, and closed for its worker", async () => {
    const one = await world();
    await keep(one.tenantId);
    const id = await one.call();
    await say(id, ["a"]);
    await one.end(id);
    await wait(9);
    expect(await one.find(id)).toMatchObject({ isOpen: false, isTruncated: true, segments: ["a"] });
    expect(await say(id, ["too late"], { first: 1 })).toBeNull();
  });

  test("with a delivery as well: the delivery takes the receiver, and leaves the rest", async () => {
    const one = await world();
    await keep(one.tenantId);
    const id = await one.call({ transcript: RECEIVER });
    await say(id, ["a"], { isComplete: true });
    await one.end(id);
    expect(await claim()).toMatchObject([{ sessionId: id }]);
    const call = { tenantId: one.tenantId, sessionId: id };
    expect(await finishTranscript(db, call, { lease: "one", delayMs: 0, isAttempt: true })).toBe(true);
    expect(await claim()).toMatchObject([{ sessionId: id, attemptCount: 1 }]);
    expect(await finishTranscript(db, call, { lease: "one", delayMs: null, isAttempt: true })).toBe(true);
    expect(await finishTranscript(db, call, { lease: "one", delayMs: null, isAttempt: true })).toBe(false);
    const [row] = await client`select receiver, lease, due_at, attempt_count from call_transcripts`;
    expect({ ...row }).toEqual({ receiver: null, lease: null, due_at: null, attempt_count: 0 });
    expect(await one.find(id)).toMatchObject({ isKept: true, segments: ["a"] });
  });

  test("of a call that moved to another worker: has the segments of both", async () => {
    const one = await world();
    await keep(one.tenantId);
    const id = await one.call();
    await say(id, ["a"]);
    await endLease(db, "one");
    await sync(db, "two", { slots: 1 });
    await expireWorkers(db, operatorOrigin());
    await say(id, ["b"], { workerId: "two", generation: 2, isComplete: true });
    await one.end(id);
    expect(await one.find(id)).toMatchObject({ segments: ["a", "b"] });
  });

  test("of a call that one worker hands over to the next: has the segments of both, not truncated", async () => {
    const one = await world();
    await keep(one.tenantId);
    const id = await one.call();
    await say(id, ["a"]);
    await sync(db, "two", { slots: 1 });
    await sync(db, "one", { slots: 0 });
    expect(await expireWorkers(db, operatorOrigin())).toMatchObject({ moved: 1 });
    await say(id, ["b"], { workerId: "two", generation: 2, isComplete: true });
    await one.end(id);
    expect(await one.find(id)).toMatchObject({ isTruncated: false, isOpen: false, segments: ["a", "b"] });
  });

  test.each([
    ["full", Array.from({ length: MAX_TRANSCRIPT_SEGMENTS }, () => "x"), MAX_TRANSCRIPT_SEGMENTS],
    ["without a dropped segment", ["a", "b".repeat(MAX_TRANSCRIPT_BYTES)], 0],
  ])("that is %s when its worker is lost: gets no segment after the gap", async (_, all, kept) => {
    const one = await world();
    await keep(one.tenantId);
    const id = await one.call();
    await say(id, all);
    await say(id, [], { first: all.length, speaking: Buffer.from("y") });
    await endLease(db, "one");
    await sync(db, "two", { slots: 1 });
    expect(await expireWorkers(db, operatorOrigin())).toMatchObject({ moved: 1 });
    expect((await one.find(id))?.segments).toHaveLength(kept);
  });

  test("of a call that a function without transcripts has ended: leaves the queue within ten minutes", async () => {
    const one = await world();
    await keep(one.tenantId);
    const id = await one.call();
    await client`update usage_sessions set status = 'released', ended_at = now(), is_counted = false where id = ${id}`;
    await wait(601);
    expect(await claim()).toEqual([]);
    const [row] = await client`select due_at, ended_at from call_transcripts`;
    expect({ ...row }).toEqual({ due_at: null, ended_at: expect.any(Date) });
  });

  test("in the other environment, or by another tenant: not found", async () => {
    const one = await world();
    await keep(one.tenantId);
    const id = await one.call();
    const other = await seedCaller(db, await seedTenant(db));
    expect(await one.find(id, { ...one.caller, environment: "test" })).toBeNull();
    expect(await one.find(id, other.caller)).toBeNull();
  });
});

describe("the deletion", () => {
  const remove = (id: SessionId, caller: Awaited<ReturnType<typeof world>>["caller"]) =>
    deleteKeptTranscript(db, id, caller, { ...operatorOrigin(), actor: caller });

  test("after the call: deleted, with one audit event", async () => {
    const one = await world();
    await keep(one.tenantId);
    const id = await one.call();
    await say(id, ["a"]);
    await one.end(id);
    expect(await remove(id, { ...one.caller, environment: "test" })).toEqual({ kind: "not_found" });
    const all = await Promise.all([remove(id, one.caller), remove(id, one.caller), remove(id, one.caller)]);
    expect(all.map(({ kind }) => kind).sort()).toEqual(["not_kept", "not_kept", "written"]);
    expect(await rows()).toBe("0 0");
    const events =
      await client`select actor_id from audit_events where action = 'transcript.deleted' and target_id = ${id}`;
    expect(events.map((event) => event["actor_id"])).toEqual([one.caller.id]);
  });

  test("while the call is open: no longer readable, and deleted at the end of the call", async () => {
    const one = await world();
    await keep(one.tenantId);
    const id = await one.call();
    await say(id, ["a"]);
    expect(await remove(id, one.caller)).toEqual({ kind: "written" });
    await say(id, ["b"], { first: 1 });
    expect(await one.find(id)).toMatchObject({ isKept: false, segments: [] });
    await one.end(id);
    expect(await rows()).toBe("0 0");
  });

  test("while a delivery waits: the delivery goes on, and then deletes the transcript", async () => {
    const one = await world();
    await keep(one.tenantId);
    const id = await one.call({ transcript: RECEIVER });
    await say(id, ["a"], { isComplete: true });
    await one.end(id);
    expect(await remove(id, one.caller)).toEqual({ kind: "written" });
    const [claimed] = await claim();
    expect(claimed?.segments.map(String)).toEqual(["a"]);
    const call = { tenantId: one.tenantId, sessionId: id };
    await finishTranscript(db, call, { lease: "one", delayMs: null, isAttempt: true });
    expect(await rows()).toBe("0 0");
  });

  test("by a key that was revoked meanwhile: stale, and nothing is deleted", async () => {
    const one = await world();
    await keep(one.tenantId);
    const id = await one.call();
    await client`update api_keys set revoked_at = now(), ended_at = now(), version = version + 1 where id = ${one.caller.id}`;
    expect(await remove(id, one.caller)).toEqual({ kind: "stale" });
    expect(await rows()).toBe("1 0");
  });

  test("by age: deletes those of calls that ended earlier, not of open calls; skips locked rows", async () => {
    const one = await world();
    await keep(one.tenantId);
    const [open, old, locked] = [await one.call(), await one.call(), await one.call()];
    for (const id of [old, locked]) {
      await say(id, ["a", "b"], { isComplete: true });
      await one.end(id);
    }
    await wait(86_400);
    const recent = await one.call();
    await one.end(recent);
    const before = new Date(Date.now() - 3600_000);
    await client.begin(async (transaction) => {
      await transaction`select from call_transcripts where session_id = ${locked} for update`;
      expect(await sweepKeptTranscripts(db, before, 100)).toBe(1);
    });
    expect(await sweepKeptTranscripts(db, before, 100)).toBe(1);
    expect(await sweepKeptTranscripts(db, before, 100)).toBe(0);
    const left = await client`select session_id from call_transcripts order by session_id`;
    expect(left.map((row) => row["session_id"])).toEqual([open, recent].sort());
    expect(await rows()).toBe("2 0");
  });
});
