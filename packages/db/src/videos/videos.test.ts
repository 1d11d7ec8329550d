/**
 * Videos: their creation under limits and credits, and their deletion. The writes of workers are in
 * `rendering.test.ts`.
 */
import { describe, expect, test } from "bun:test";
import type { UsageSession } from "@realtime-avatar/domain/credits/schemas";
import { parseItems } from "@realtime-avatar/domain/page";
import { presentVideo } from "@realtime-avatar/domain/videos/video";
import { seedVideo, TEXT } from "@realtime-avatar/testing/avatars/videos";
import { readyAvatar } from "@realtime-avatar/testing/calls/calls";
import { PRICE, seedCaller, seedSession } from "@realtime-avatar/testing/credits";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { claimedJob, withoutJobs } from "@realtime-avatar/testing/postgres/jobs";
import { newClaim, seedAsset, seedOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { deliveredTypes, seedEndpoint } from "@realtime-avatar/testing/webhooks/events";
import type { Caller } from "../callers/callers.ts";
import { findCreditBalance } from "../credits/credits.ts";
import { findUsageSession } from "../credits/find-usage-session.ts";
import { findCreditDrift } from "../credits/invariants.ts";
import { countOpenSessions, countUsageSessions, listUsageSessions } from "../credits/list-usage-sessions.ts";
import { listVideos } from "./list.ts";
import { startVideo } from "./rendering.ts";
import { deleteVideo, findVideo } from "./videos.ts";

const { db } = await serviceDatabase();
const { client } = db;
withoutJobs(db);
const ORIGIN = "https://assets.example.com";

const world = async (live = 100 * PRICE, request: Parameters<typeof seedCaller>[2] = {}) => {
  const tenantId = await seedTenant(db, { live });
  const { caller, record } = await seedCaller(db, tenantId, request);
  return { tenantId, caller, record, avatarId: await readyAvatar(db, caller) };
};
const reserved = async (caller: Caller) =>
  (await findCreditBalance(db, caller.tenantId, caller.environment))?.reservedCreditMicros;
const drift = (tenantId: Caller["tenantId"]) => findCreditDrift(db, tenantId, 10);
const remove = (id: Parameters<typeof deleteVideo>[1], caller: Caller, changes: object = {}) =>
  deleteVideo(db, id, { versions: null, managesFiles: true, ...changes }, caller, seedOrigin(caller));
const audio = async (caller: Caller, durationMs: number | null, status: "ready" | "processing" = "ready") => {
  const { id } = await seedAsset(db, caller.tenantId, caller.environment, "audio", status);
  await client`update assets set duration_ms = ${durationMs} where id = ${id}`;
  return { text: null, seconds: null, audioAssetId: id };
};

describe("a new video", () => {
  test("a video of a text: holds credits for its seconds; its read, its list entry and its stored form are equal", async () => {
    const { caller, avatarId, tenantId } = await world();
    const metadata = { user_id: "u-1", deep: { a: [1.5, "ü"] } };
    const { video, outcome } = await seedVideo(db, caller, avatarId, { metadata });
    const responseFields = { voiceId: "flite-slt", reservedCreditMicros: 3 * PRICE, warnings: [] };
    expect(outcome).toEqual({ kind: "written", responseFields });
    const found = await findVideo(db, caller, video.id, ORIGIN);
    expect(found).toMatchObject({ version: 1, video: { text: TEXT, status: "queued", metadata, ...responseFields } });
    const { items } = await listVideos(db, caller, { filters: {}, before: null, limit: 10 }, ORIGIN);
    expect(JSON.parse(items)).toEqual(found?.video as never);
    expect(await reserved(caller)).toBe(3 * PRICE);
    expect(await findUsageSession(db, caller, video.sessionId)).toMatchObject({
      ...{ status: "started", avatarId, metadata: { user_id: "u-1" }, reservedCreditMicros: 3 * PRICE, mustEnd: false },
      videoId: video.id,
    });
    expect(await drift(tenantId)).toEqual([]);
  });

  test("usage sessions, listed and counted by kind: of videos, or of calls", async () => {
    const { caller, avatarId } = await world();
    const sessionId = await seedSession(db, caller, { metadata: { user_id: "u-1" } });
    const { video } = await seedVideo(db, caller, avatarId, { metadata: { user_id: "u-1" } });
    const window = {
      from: new Date(Date.now() - 60_000).toISOString(),
      to: new Date(Date.now() + 60_000).toISOString(),
    };
    for (const [filters, expected] of [
      [{}, [`${video.sessionId} ${video.id}`, `${sessionId} null`]],
      [{ kind: "video" }, [`${video.sessionId} ${video.id}`]],
      [{ kind: "call" }, [`${sessionId} null`]],
      [{ kind: "call", status: "reserved" }, [`${sessionId} null`]],
      [{ kind: "call", avatarId }, []],
      [{ kind: "video", endUserId: "u-1" }, [`${video.sessionId} ${video.id}`]],
    ] as const) {
      const page = { filters: { ...window, ...filters }, before: null, limit: 10 };
      const sessions = parseItems<UsageSession>(await listUsageSessions(db, caller, page));
      expect(sessions.map((session) => `${session.sessionId} ${session.videoId}`)).toEqual([...expected]);
      expect(await countUsageSessions(db, caller, page.filters)).toEqual({ count: expected.length, isExact: true });
    }
  });

  test("an open session of a video: takes no place from other sessions", async () => {
    const { caller, avatarId } = await world(100 * PRICE, { maxConcurrentSessions: 1 });
    for (const _ of [1, 2]) expect((await seedVideo(db, caller, avatarId)).outcome.kind).toBe("written");
    expect(await countOpenSessions(db, caller)).toMatchObject({ activeSessions: 0 });
    expect(await drift(caller.tenantId)).toEqual([]);
  });

  test.each([
    ["the request", "flite-rms", "flite-rms", []],
    ["the avatar", null, "flite-rms", []],
    [
      "the service, because the voice of the avatar does not exist",
      null,
      "flite-slt",
      [expect.stringContaining("voice-no-1")],
    ],
  ])("its voice, by %s: written", async (by, voiceId, used, warnings) => {
    const { caller, avatarId } = await world();
    const stored = by === "the avatar" ? "flite-rms" : "voice-no-1";
    await client`update avatars set default_voice_id = ${stored} where id = ${avatarId}`;
    const { outcome } = await seedVideo(db, caller, avatarId, { voiceId });
    expect(outcome).toMatchObject({ responseFields: { voiceId: used, warnings } });
  });

  test.each([
    ["of 7.2 s", 7200, 8],
    ["of unknown length", null, 600],
  ])("an audio %s: holds credits for its seconds", async (_, durationMs, seconds) => {
    const { caller, avatarId } = await world(1000 * PRICE);
    const { outcome } = await seedVideo(db, caller, avatarId, await audio(caller, durationMs));
    const responseFields = { voiceId: null, reservedCreditMicros: seconds * PRICE, warnings: [] };
    expect(outcome).toEqual({ kind: "written", responseFields });
  });

  test("an audio that is too long, not ready, a picture, or foreign: refused, nothing is written", async () => {
    const { caller, avatarId, tenantId } = await world(1000 * PRICE);
    const other = await world();
    const picture = await seedAsset(db, tenantId);
    const refused = async (fields: object) => (await seedVideo(db, caller, avatarId, fields)).outcome;
    const sound = { text: null, seconds: null };
    expect(await refused(await audio(caller, 600_001))).toEqual({ kind: "audio_too_long" });
    expect(await refused(await audio(caller, 1000, "processing"))).toEqual({
      kind: "asset_not_usable",
      assetStatus: "processing",
    });
    expect(await refused({ ...sound, audioAssetId: picture.id })).toEqual({ kind: "asset_kind_mismatch" });
    expect(await refused(await audio(other.caller, 1000))).toEqual({ kind: "asset_not_found" });
    expect(await refused(await audio({ ...caller, environment: "test" }, 1000))).toEqual({ kind: "asset_not_found" });
    expect(await client`select from videos where tenant_id = ${tenantId}`).toHaveLength(0);
    expect(await reserved(caller)).toBe(0);
  });

  test("an avatar that is not ready, deleted or foreign: refused", async () => {
    const { caller, avatarId } = await world();
    const other = await world();
    expect((await seedVideo(db, caller, other.avatarId)).outcome).toEqual({ kind: "avatar_not_found" });
    await client`update avatars set status = 'disabled' where id = ${avatarId}`;
    expect((await seedVideo(db, caller, avatarId)).outcome).toEqual({
      kind: "avatar_not_ready",
      avatarStatus: "disabled",
    });
    await client`update avatars set status = 'deleted' where id = ${avatarId}`;
    expect((await seedVideo(db, caller, avatarId)).outcome).toEqual({ kind: "avatar_not_found" });
  });

  test("too few credits, or a cap of the key or an ancestor: refused, with the event of exhausted credits", async () => {
    const poor = await world(2 * PRICE);
    await seedEndpoint(db, poor.tenantId);
    const requiredCreditMicros = 3 * PRICE;
    expect((await seedVideo(db, poor.caller, poor.avatarId)).outcome).toEqual({
      kind: "insufficient_credits",
      requiredCreditMicros,
    });
    expect(await deliveredTypes(db, poor.tenantId, poor.tenantId)).toEqual(["credits.exhausted"]);
    const { caller, record, avatarId, tenantId } = await world(100 * PRICE, { spendLimitCreditMicros: 2 * PRICE });
    const refusal = { kind: "spend_limit_exceeded", requiredCreditMicros } as const;
    expect((await seedVideo(db, caller, avatarId)).outcome).toEqual({ ...refusal, limitedBy: "self" });
    const child = await seedCaller(db, tenantId, {}, record);
    expect((await seedVideo(db, child.caller, avatarId)).outcome).toEqual({ ...refusal, limitedBy: "ancestor" });
  });

  test("more concurrent creates than the maximum: the maximum is written", async () => {
    const { caller, avatarId } = await world();
    const all = await Promise.all(
      Array.from({ length: 12 }, () => seedVideo(db, caller, avatarId, { terms: { maxVideos: 5 } })),
    );
    const kinds = all.map(({ outcome }) => outcome.kind);
    expect(kinds.filter((kind) => kind === "written")).toHaveLength(5);
    expect(kinds.filter((kind) => kind === "too_many_videos")).toHaveLength(7);
    const [first] = all.filter(({ outcome }) => outcome.kind === "written");
    await remove(first?.video.id as never, caller);
    expect((await seedVideo(db, caller, avatarId, { terms: { maxVideos: 5 } })).outcome.kind).toBe("written");
  });

  test("an Idempotency-Key, used again: gets the first response; after a refusal: can be used", async () => {
    const { caller, avatarId, tenantId } = await world(4 * PRICE);
    const claim = newClaim("a", "x");
    await client`update avatars set status = 'disabled' where id = ${avatarId}`;
    expect((await seedVideo(db, caller, avatarId, { claim })).outcome.kind).toBe("avatar_not_ready");
    await client`update avatars set status = 'ready' where id = ${avatarId}`;
    const [one, two] = await Promise.all([1, 2].map(() => seedVideo(db, caller, avatarId, { claim })));
    const kinds = [one?.outcome.kind, two?.outcome.kind].sort();
    expect(kinds).toEqual(["replayed", "written"]);
    const replayed = one?.outcome.kind === "replayed" ? one.outcome : two?.outcome;
    expect(replayed).toMatchObject({ responseFields: { voiceId: "flite-slt", reservedCreditMicros: 3 * PRICE } });
    expect(await client`select from videos where tenant_id = ${tenantId}`).toHaveLength(1);
  });

  test("a revoked key: stale, nothing is written", async () => {
    const { caller, avatarId, record, tenantId } = await world();
    await client`update api_keys set revoked_at = now(), ended_at = now() where id = ${record.id}`;
    expect((await seedVideo(db, caller, avatarId)).outcome).toEqual({ kind: "stale" });
    expect(await client`select from usage_sessions where tenant_id = ${tenantId}`).toHaveLength(0);
  });
});

describe("a deletion", () => {
  test("a queued or rendered video: canceled, not charged, its job is deleted", async () => {
    const { caller, avatarId, tenantId } = await world();
    await seedEndpoint(db, tenantId);
    for (const isRendered of [false, true]) {
      const { video } = await seedVideo(db, caller, avatarId);
      const job = isRendered ? await claimedJob(db) : null;
      if (job) expect(await startVideo(db, job)).toMatchObject({ kind: "started" });
      const outcome = await remove(video.id, caller);
      expect(outcome).toMatchObject({ kind: "written", deletedAssetId: null, video: { status: "canceled" } });
      const shown = (await findVideo(db, caller, video.id, ORIGIN))?.video;
      expect(outcome.kind === "written" && presentVideo(outcome.video)).toEqual(shown as never);
      expect(shown).toMatchObject({ billedSeconds: 0, billedCreditMicros: 0, error: null });
      expect(await findUsageSession(db, caller, video.sessionId)).toMatchObject({
        ...{ status: "released", closedBy: caller.id, endReason: "released", billedCreditMicros: 0 },
      });
      expect(await deliveredTypes(db, tenantId, video.id)).toEqual([]);
      expect(await client`select from jobs`).toHaveLength(0);
    }
    expect(await reserved(caller)).toBe(0);
    expect(await drift(tenantId)).toEqual([]);
  });

  test("a canceled video: deleted with its text; deleted again, or with another version: unchanged", async () => {
    const { caller, avatarId } = await world();
    const { video } = await seedVideo(db, caller, avatarId);
    expect(await remove(video.id, caller, { versions: ["7"] })).toMatchObject({ kind: "unchanged" });
    await remove(video.id, caller, { versions: ["1"] });
    expect(await remove(video.id, caller)).toMatchObject({ kind: "written", video: { status: "deleted", text: null } });
    expect(await remove(video.id, caller)).toMatchObject({ kind: "unchanged", video: { status: "deleted" } });
    const list = (filters: object) => listVideos(db, caller, { filters, before: null, limit: 10 }, ORIGIN);
    expect((await list({})).items).toBe("");
    for (const filters of [{ status: "deleted" }, { status: "deleted", avatarId }]) {
      expect((await list(filters)).items).toContain(video.id);
    }
    expect((await list({ avatarId })).items).toBe("");
  });

  test("the deletion of a video of another key: refused for another lineage; allowed for an ancestor, or a key that manages files", async () => {
    const { caller, record, avatarId, tenantId } = await world();
    const child = await seedCaller(db, tenantId, {}, record);
    const own = await seedVideo(db, child.caller, avatarId);
    const parents = await seedVideo(db, caller, avatarId);
    expect(await remove(parents.video.id, child.caller, { managesFiles: false })).toEqual({ kind: "not_own" });
    expect(await remove(parents.video.id, child.caller)).toMatchObject({ kind: "written" });
    expect(await remove(own.video.id, caller, { managesFiles: false })).toMatchObject({ kind: "written" });
    const other = await world();
    expect(await remove(own.video.id, other.caller)).toEqual({ kind: "not_found" });
    const { caller: tester } = await seedCaller(db, tenantId, { environment: "test" });
    expect(await remove(own.video.id, tester)).toEqual({ kind: "not_found" });
  });
});
