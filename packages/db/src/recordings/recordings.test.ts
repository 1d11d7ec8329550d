/** The ends of recordings: the joining of their fragments, deletions and the retention. */
import { describe, expect, test } from "bun:test";
import type { RecordingId } from "@realtime-avatar/domain/id";
import { fragmentKey, recordingKey } from "@realtime-avatar/domain/recordings/files";
import { Recording } from "@realtime-avatar/domain/recordings/schemas";
import { isValid } from "@realtime-avatar/domain/schema";
import { sync } from "@realtime-avatar/testing/calls/calls";
import { ageRecordings, sendFragment } from "@realtime-avatar/testing/calls/recordings";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import {
  finishRecordings,
  forgetUnneededFiles,
  listUnneededFiles,
  postponeUnneededFiles,
  type RecordingFile,
  recordingStats,
  renewRecordings,
  sweepRecordings,
} from "./joining.ts";
import { findRecording, listRecordings } from "./recordings.ts";
import { type Claimed, claim, claimOne, FEATURES, newWorld } from "./world.testing.ts";

const database = await serviceDatabase();
const { db } = database;
const { client } = db;
const world = () => newWorld(db);
const DAY = 86_400;
const file = (claimed: Claimed, id: RecordingId | undefined): RecordingFile => ({
  id: id as RecordingId,
  key: recordingKey(claimed, id as RecordingId, claimed.attemptCount),
  ...{ sizeBytes: 5000, durationMs: 10_000 },
  mediaStartedAt: new Date("2026-11-30T10:00:00.000Z"),
  mediaEndedAt: new Date("2026-11-30T10:00:10.000Z"),
});
const ready = (claimed: Claimed, lease = "one") =>
  finishRecordings(db, claimed, {
    lease,
    outcome: { kind: "ready", files: claimed.recordings.map(({ id }) => file(claimed, id)) },
  });
const keys = async (dueBefore = new Date()) =>
  (await listUnneededFiles(db, 100, dueBefore)).map(({ key }) => key).sort();
describe("a claim", () => {
  test("of an ended call: returns its recordings and fragments, once until the lease ends", async () => {
    const one = await world();
    const { id, recordings } = await one.start("participants", { mode: "voice" });
    await sendFragment(db, id, { n: 1, sizeBytes: 7 });
    await sendFragment(db, id);
    await one.end(id);
    expect(await one.find(recordings[0])).toMatchObject({ status: "processing" });
    await ageRecordings(db, 11);
    expect(await claim(db)).toEqual([
      {
        ...{ tenantId: one.tenantId, sessionId: id, environment: "live", avatarId: one.avatarId, callMode: "voice" },
        ...{ startedAt: expect.any(Date), endedAt: expect.any(Date), attemptCount: 1 },
        recordings: [
          { id: recordings[0] as RecordingId, mode: "audio", role: "user" },
          { id: recordings[1] as RecordingId, mode: "audio", role: "avatar" },
        ],
        fragments: [
          { generation: 1, n: 0, sizeBytes: 1000 },
          { generation: 1, n: 1, sizeBytes: 7 },
        ],
      },
    ]);
    expect(await claim(db, { lease: "two" })).toEqual([]);
    await ageRecordings(db, 50);
    const call = { tenantId: one.tenantId, sessionId: id };
    expect(await renewRecordings(db, call, { lease: "two", leaseSeconds: 60 })).toBe(false);
    expect(await renewRecordings(db, call, { lease: "one", leaseSeconds: 60 })).toBe(true);
    await ageRecordings(db, 50);
    expect(await claim(db, { lease: "two" })).toEqual([]);
    await ageRecordings(db, 11);
    expect(await claim(db, { lease: "two" })).toMatchObject([{ attemptCount: 2 }]);
    expect(await finishRecordings(db, call, { lease: "one", outcome: { kind: "retry", delayMs: 1 } })).toBe(false);
  });

  test("of a call without fragments: nothing to join; its recordings are unavailable", async () => {
    const one = await world();
    const { id, recordings } = await one.start();
    await one.end(id);
    await ageRecordings(db, 11);
    expect(await claim(db)).toEqual([]);
    expect(await one.find(recordings[0])).toMatchObject({ status: "failed", errorCode: "recording_unavailable" });
    expect(await one.events(recordings[0])).toEqual(["recording.failed"]);
    expect(await one.rows()).toBe("0 0 1");
  });

  test("of an open call: checked again later; a call that the previous release has ended: joined", async () => {
    const one = await world();
    const { id, recordings } = await one.start();
    await sendFragment(db, id);
    await ageRecordings(db, 601);
    expect(await claim(db)).toEqual([]);
    expect((await recordingStats(db)).oldestDueSeconds).toBe(0);
    await client`update usage_sessions set ended_at = now(), status = 'released', closed_by = 'sweep' where id = ${id}`;
    await ageRecordings(db, 601);
    expect(await claimOne(db)).toMatchObject({ sessionId: id });
    expect(await one.find(recordings[0])).toMatchObject({ status: "processing" });
  });

  test("of several tenants: first those after `after`, without busy tenants", async () => {
    const one = await world();
    const { id } = await one.start();
    await sendFragment(db, id);
    await one.end(id);
    await ageRecordings(db, 11);
    expect(await claim(db, { after: one.tenantId })).toEqual([]);
    expect(await claim(db, { busyTenants: [one.tenantId] })).toEqual([]);
    expect((await recordingStats(db)).oldestDueSeconds).toBe(1);
    expect(await claim(db)).toHaveLength(1);
  });
});

describe("the end of the joining", () => {
  const joined = async (mode?: "audio" | "participants") => {
    const one = await world();
    const { id, recordings } = await one.start(mode);
    await sendFragment(db, id);
    await one.end(id);
    await ageRecordings(db, 11);
    return { ...one, id, recordings, claimed: await claimOne(db) };
  };

  test("ready: the representation of the API, an event, and unneeded fragments", async () => {
    const one = await joined("participants");
    expect(await ready(one.claimed)).toBe(true);
    const shown = await one.find(one.recordings[1]);
    expect(shown).toEqual({
      sessionId: one.id,
      recordingId: one.recordings[1] as string,
      mode: "audio_video",
      createdAt: expect.any(String),
      retainedUntil: expect.any(String),
      participant: { participantIdentity: "avatar", role: "avatar" },
      ...{ status: "ready", mediaType: "video/mp4", sizeBytes: 5000, durationMs: 10_000 },
      mediaStartedAt: "2026-11-30T10:00:00.000Z",
      mediaEndedAt: "2026-11-30T10:00:10.000Z",
    });
    expect(isValid(Recording, shown)).toBe(true);
    expect(await one.find(one.recordings[0])).toMatchObject({ mediaType: "audio/mp4", participant: { role: "user" } });
    expect(await one.events(one.recordings[0])).toEqual(["recording.ready"]);
    expect(await one.rows()).toBe("0 0 2");
    expect(await keys()).toEqual([fragmentKey(one.claimed, { generation: 1, n: 0 })]);
    expect((await recordingStats(db)).storedBytes).toBe(10_000);
    expect(await ready(one.claimed)).toBe(false);
    await forgetUnneededFiles(db, await listUnneededFiles(db, 10, new Date()));
    expect(await keys()).toEqual([]);
  });

  test("a file that the store cannot delete: due again after the time that it has waited, from 10 s to 10 minutes", async () => {
    const { tenantId } = await world();
    const insert = (key: string, age: string) =>
      client`insert into unneeded_files (tenant_id, key, created_at) values (${tenantId}, ${key}, now() - ${age}::interval)`;
    await insert("new", "0 s");
    await insert("older", "1 minute");
    await insert("oldest", "1 day");
    await insert("deleted", "1 minute");
    const files = await listUnneededFiles(db, 3, new Date());
    expect(files.map(({ key }) => key)).toEqual(expect.arrayContaining(["oldest", "older", "deleted"]));
    await postponeUnneededFiles(
      db,
      [..."new older oldest".split(" ")].map((key) => ({ tenantId, key })),
    );
    expect(await keys()).toEqual(["deleted"]);
    const after = (seconds: number) => keys(new Date(Date.now() + 1000 * seconds));
    expect(await after(11)).toEqual(["deleted", "new"]);
    expect(await after(61)).toEqual(["deleted", "new", "older"]);
    expect(await after(601)).toEqual(["deleted", "new", "older", "oldest"]);
    expect((await recordingStats(db)).oldestUnneededSeconds).toBeGreaterThan(86_000);
  });

  test("retry: another attempt after the delay", async () => {
    const one = await joined();
    expect(await finishRecordings(db, one.claimed, { lease: "one", outcome: { kind: "retry", delayMs: 5000 } })).toBe(
      true,
    );
    expect(await claim(db)).toEqual([]);
    await ageRecordings(db, 6);
    expect(await claimOne(db)).toMatchObject({ attemptCount: 2 });
    expect(await one.events(one.recordings[0])).toEqual([]);
  });

  test("failed, or ready without a file for one recording: this recording has failed", async () => {
    const one = await joined("participants");
    const files = [file(one.claimed, one.recordings[1])];
    expect(await finishRecordings(db, one.claimed, { lease: "one", outcome: { kind: "ready", files } })).toBe(true);
    expect(await one.find(one.recordings[0])).toMatchObject({ status: "failed", errorCode: "recording_failed" });
    expect(await one.find(one.recordings[1])).toMatchObject({ status: "ready" });
    const other = await joined();
    const outcome = { kind: "failed", code: "recording_failed" } as const;
    expect(await finishRecordings(db, other.claimed, { lease: "one", outcome })).toBe(true);
    expect(await other.find(other.recordings[0])).toMatchObject({ status: "failed" });
    expect(await keys()).toHaveLength(1);
  });

  test("of a recording that was deleted meanwhile: its file is unneeded", async () => {
    const one = await joined("participants");
    await one.remove(one.recordings[0]);
    expect(await ready(one.claimed)).toBe(true);
    expect(await keys()).toEqual(
      [fragmentKey(one.claimed, { generation: 1, n: 0 }), file(one.claimed, one.recordings[0]).key].sort(),
    );
    expect(await one.find(one.recordings[0])).toBeNull();
  });
});

describe("a deletion", () => {
  test("of a ready recording: deleted with its file; the audit event is not sent to webhooks", async () => {
    const one = await world();
    const { id, recordings } = await one.start();
    await sendFragment(db, id);
    await one.end(id);
    await ageRecordings(db, 11);
    const claimed = await claimOne(db);
    await ready(claimed);
    expect(await one.remove(recordings[0])).toEqual({ kind: "written" });
    expect(await one.find(recordings[0])).toBeNull();
    expect(await keys()).toContain(file(claimed, recordings[0]).key);
    const events = await client`select action, actor_id from audit_events where target_id = ${recordings[0] as string}`;
    expect([...events]).toEqual([{ action: "recording.deleted", actor_id: one.caller.id }]);
    expect(await one.events(recordings[0])).toEqual(["recording.ready"]);
    expect(await one.remove(recordings[0])).toEqual({ kind: "not_found" });
  });

  test("of all recordings of an open call: its fragments are unneeded; its worker gets no recording any more", async () => {
    const one = await world();
    const { id, recordings } = await one.start("participants");
    await sendFragment(db, id);
    await one.remove(recordings[0]);
    expect(await sendFragment(db, id, { n: 1 })).toBe("written");
    await one.remove(recordings[1]);
    expect(await one.rows()).toBe("0 0 0");
    expect(await keys()).toHaveLength(2);
    const { start } = await sync(db, "one", { slots: 10, features: FEATURES });
    expect(start).toMatchObject([{ sessionId: id, recording: null }]);
    await one.end(id);
  });

  test("during the joining: the lease is lost", async () => {
    const one = await world();
    const { id, recordings } = await one.start();
    await sendFragment(db, id);
    await one.end(id);
    await ageRecordings(db, 11);
    const claimed = await claimOne(db);
    await one.remove(recordings[0]);
    expect(await renewRecordings(db, claimed, { lease: "one", leaseSeconds: 60 })).toBe(false);
    expect(await ready(claimed)).toBe(false);
  });

  test("by another tenant, or with a key of the other environment: not found", async () => {
    const one = await world();
    const { recordings } = await one.start();
    const other = (await seedCaller(db, await seedTenant(db), { environment: "live" })).caller;
    const own = (await seedCaller(db, one.tenantId, { environment: "test" })).caller;
    for (const caller of [other, own]) {
      expect(await one.find(recordings[0], caller)).toBeNull();
      expect(await one.remove(recordings[0], caller)).toEqual({ kind: "not_found" });
      expect((await listRecordings(db, caller, { filters: {}, before: null, limit: 10 })).items).toBe("");
    }
    expect(await one.find(recordings[0])).not.toBeNull();
  });
});

describe("the retention", () => {
  test("counts from the end of the call; after it: expired, without a file; a week later: deleted", async () => {
    const one = await world();
    const { id, recordings } = await one.start();
    const before = await one.find(recordings[0]);
    await client`update recordings set created_at = created_at - interval '1 hour', retained_until = retained_until - interval '1 hour'`;
    await sendFragment(db, id);
    await one.end(id);
    const after = await one.find(recordings[0]);
    const moved = Date.parse(after?.retainedUntil ?? "") - Date.parse(before?.retainedUntil ?? "");
    expect(Math.abs(moved)).toBeLessThan(60_000);
    await ageRecordings(db, 11);
    const claimed = await claimOne(db);
    await ready(claimed);
    expect(await sweepRecordings(db, 10)).toBe(0);
    await ageRecordings(db, 30 * DAY);
    expect(await one.find(recordings[0])).toEqual({
      ...{ sessionId: id, recordingId: recordings[0] as string, mode: "audio", status: "expired" },
      ...{ createdAt: expect.any(String), retainedUntil: expect.any(String) },
    });
    expect((await findRecording(db, one.caller, recordings[0] as RecordingId))?.key).toBeNull();
    expect(await sweepRecordings(db, 10)).toBe(1);
    expect(await keys()).toContain(file(claimed, recordings[0]).key);
    expect(await one.find(recordings[0])).toMatchObject({ status: "expired" });
    await ageRecordings(db, 6 * DAY);
    expect(await sweepRecordings(db, 10)).toBe(0);
    await ageRecordings(db, DAY);
    expect(await sweepRecordings(db, 10)).toBe(1);
    expect(await one.find(recordings[0])).toBeNull();
  });

  test("the list: the newest first; with `sessionId`: only those of the call", async () => {
    const one = await world();
    const first = await one.start("participants");
    const second = await one.start();
    const list = async (filters = {}) =>
      (
        JSON.parse(
          `[${(await listRecordings(db, one.caller, { filters, before: null, limit: 10 })).items}]`,
        ) as Recording[]
      ).map(({ recordingId }) => recordingId);
    expect(await list()).toEqual([...first.recordings, ...second.recordings].toReversed());
    expect(await list({ sessionId: first.id })).toEqual(first.recordings.toReversed());
  });
});
