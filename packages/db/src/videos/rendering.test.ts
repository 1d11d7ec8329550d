/** The writes of workers to videos. A video is charged once, or not at all. */
import { describe, expect, test } from "bun:test";
import type { AssetRecord } from "@realtime-avatar/domain/assets/asset";
import { AVATAR_STATUSES } from "@realtime-avatar/domain/avatars/status";
import { VIDEO_ERRORS } from "@realtime-avatar/domain/videos/errors";
import type { PlannedVideo } from "@realtime-avatar/domain/videos/video";
import { seedVideo, videoFile } from "@realtime-avatar/testing/avatars/videos";
import { readyAvatar } from "@realtime-avatar/testing/calls/calls";
import { PRICE, seedCaller } from "@realtime-avatar/testing/credits";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { claimedJob, expireLeases, ROOMY, takenSlots, withoutJobs } from "@realtime-avatar/testing/postgres/jobs";
import { operatorOrigin, seedOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { deliveredTypes, seedEndpoint } from "@realtime-avatar/testing/webhooks/events";
import { deleteAsset, findAsset } from "../assets/assets.ts";
import { listAssets } from "../assets/list.ts";
import { deleteGeneratedFiles } from "../assets/processing.ts";
import type { Caller } from "../callers/callers.ts";
import { endLostCall } from "../calls/reconcile.ts";
import { findCreditBalance } from "../credits/credits.ts";
import { findUsageSession } from "../credits/find-usage-session.ts";
import { findCreditDrift } from "../credits/invariants.ts";
import { releaseSession, reportUsage, sweepSessions } from "../credits/usage-sessions.ts";
import { type ClaimedJob, renewJob, retryJob } from "../jobs/jobs.ts";
import { failWaitingVideos, finishVideo, reportVideo, startVideo, type VideoResult } from "./rendering.ts";
import { deleteVideo, findVideo } from "./videos.ts";

const { db } = await serviceDatabase();
const { client } = db;
withoutJobs(db);
const ORIGIN = "https://assets.example.com";

/** A tenant with an endpoint for all events, and a video that holds credits for three seconds. */
const world = async () => {
  const tenantId = await seedTenant(db, { live: 100 * PRICE });
  await seedEndpoint(db, tenantId);
  const { caller, record } = await seedCaller(db, tenantId);
  const avatarId = await readyAvatar(db, caller);
  const { video } = await seedVideo(db, caller, avatarId);
  return { tenantId, caller, record, avatarId, video };
};
const started = async (): Promise<ClaimedJob> => {
  const job = await claimedJob(db);
  expect(await startVideo(db, job)).toMatchObject({ kind: "started", video: { status: "rendering", progress: 0 } });
  return job;
};
const READY = { kind: "ready", durationMs: 2100, warnings: [], quota: ROOMY } as const;
const ready = (asset: AssetRecord, changes: object = {}): VideoResult => ({ ...READY, asset, ...changes });
const finish = (job: ClaimedJob, result: VideoResult) => finishVideo(db, job, result, operatorOrigin());
const shown = async (caller: Caller, { id }: Pick<PlannedVideo, "id">) =>
  (await findVideo(db, caller, id, ORIGIN))?.video;
const balance = async ({ tenantId }: Caller) => {
  const found = await findCreditBalance(db, tenantId, "live");
  return { held: found?.reservedCreditMicros, used: found?.lifetimeUsedCreditMicros };
};
const drift = ({ tenantId }: Caller) => findCreditDrift(db, tenantId, 10);
const bytesOf = async ({ tenantId }: Caller) =>
  Number((await client`select bytes from asset_meters where tenant_id = ${tenantId}`)[0]?.["bytes"] ?? 0);
const NOT_CHARGED = { billedSeconds: 0, billedCreditMicros: 0, assetId: null, videoUrl: null };

describe("the rendering of a video", () => {
  test("the end: ready with its file, charged once for its seconds, with an event", async () => {
    const { caller, video, tenantId } = await world();
    const job = await started();
    expect(await reportVideo(db, job, 0.51239)).toBeNull();
    expect(await shown(caller, video)).toMatchObject({ status: "rendering", progress: 0.512 });
    // A late report does not lower the progress.
    expect(await reportVideo(db, job, 0.2)).toBeNull();
    expect(await shown(caller, video)).toMatchObject({ progress: 0.512 });
    const file = videoFile({ ...caller });
    expect(await finish(job, ready(file, { warnings: ["The sound is Opus."] }))).toBe("ready");
    expect(await shown(caller, video)).toMatchObject({
      ...{
        status: "ready",
        progress: 1,
        assetId: file.id,
        videoUrl: `${ORIGIN}/public/assets/${file.publicToken}`,
        durationSeconds: 2.1,
        billedSeconds: 3,
        error: null,
      },
      ...{ billedCreditMicros: 3 * PRICE, warnings: ["The sound is Opus."] },
    });
    expect(await findAsset(db, caller, file.id)).toMatchObject({ origin: "generated", status: "ready", kind: "video" });
    const { items } = await listAssets(db, caller, { filters: {}, before: null, limit: 5 }, "http://x");
    expect(JSON.parse(items)).toMatchObject({ id: file.id, origin: "generated" });
    expect(await findUsageSession(db, caller, video.sessionId)).toMatchObject({
      ...{ status: "released", closedBy: "sweep", endReason: "released", billedCreditMicros: 3 * PRICE },
    });
    expect(await balance(caller)).toEqual({ held: 0, used: 3 * PRICE });
    expect(await bytesOf(caller)).toBe(1000);
    expect(await deliveredTypes(db, tenantId, video.id)).toEqual(["video.ready"]);
    expect(await deliveredTypes(db, tenantId, video.sessionId)).toEqual([
      "usage_session.opened",
      "usage_session.ended",
    ]);
    // The same worker ends the job again, but no longer holds it.
    expect(await finish(job, ready(videoFile({ ...caller })))).toBe("lost");
    expect(await balance(caller)).toEqual({ held: 0, used: 3 * PRICE });
    expect([await drift(caller), await takenSlots(db)]).toEqual([[], 0]);
  });

  test("longer than its hold: charged for the whole hold", async () => {
    const { caller, video } = await world();
    await finish(await started(), ready(videoFile({ ...caller }), { durationMs: 9000 }));
    expect(await shown(caller, video)).toMatchObject({ durationSeconds: 9, billedSeconds: 3 });
    expect(await drift(caller)).toEqual([]);
  });

  test("a file that does not fit into the quota: failed, not charged, without an asset", async () => {
    const { caller, video, tenantId } = await world();
    const file = videoFile({ ...caller });
    for (const quota of [{ maxAssets: 5, maxBytes: 999 }]) {
      expect(await finish(await started(), ready(file, { quota }))).toBe("failed");
    }
    const error = { code: "quota_exceeded", detail: VIDEO_ERRORS.quota_exceeded };
    expect(await shown(caller, video)).toMatchObject({ status: "failed", error, ...NOT_CHARGED });
    expect([await findAsset(db, caller, file.id), await bytesOf(caller)]).toEqual([null, 0]);
    expect(await deliveredTypes(db, tenantId, video.id)).toEqual(["video.failed"]);
    expect(await balance(caller)).toEqual({ held: 0, used: 0 });
    expect(await drift(caller)).toEqual([]);
  });

  test("a failure: failed with its code, not charged", async () => {
    const { caller, video, tenantId } = await world();
    const detail = "The recording is silent.";
    expect(await finish(await started(), { kind: "failed", code: "audio_silent", detail })).toBe("failed");
    expect(await shown(caller, video)).toMatchObject({
      status: "failed",
      error: { code: "audio_silent", detail },
      ...NOT_CHARGED,
    });
    expect(await findUsageSession(db, caller, video.sessionId)).toMatchObject({
      ...{ status: "failed", endReason: "failed", billedCreditMicros: 0 },
    });
    expect(await deliveredTypes(db, tenantId, video.id)).toEqual(["video.failed"]);
    expect(await drift(caller)).toEqual([]);
  });

  test("deleted when it is ready: without its file and text; its charge remains", async () => {
    const { caller, video } = await world();
    const file = videoFile({ ...caller });
    await finish(await started(), ready(file));
    const remove = () => deleteVideo(db, video.id, { versions: null, managesFiles: true }, caller, seedOrigin(caller));
    for (const field of ["source_asset_id", "pending_source_asset_id"]) {
      for (const status of AVATAR_STATUSES.filter((one) => one !== "deleted")) {
        await client`
          update avatars set ${client(field)} = ${file.id}, status = ${status} where tenant_id = ${caller.tenantId}`;
        expect([field, status, await remove()]).toEqual([field, status, { kind: "in_use" }]);
      }
      await client`update avatars set ${client(field)} = null where tenant_id = ${caller.tenantId}`;
    }
    expect(await remove()).toMatchObject({ kind: "written", deletedAssetId: file.id });
    expect(await shown(caller, video)).toMatchObject({
      status: "deleted",
      text: null,
      assetId: null,
      billedSeconds: 3,
    });
    expect((await findAsset(db, caller, file.id))?.status).toBe("deleted");
    const [{ action, actor_id: actorId } = {}] = await client`
      select action, actor_id from audit_events where target_id = ${file.id}`;
    expect([action, actorId]).toEqual(["asset.deleted", caller.id]);
    expect([await bytesOf(caller), (await balance(caller)).used]).toEqual([0, 3 * PRICE]);
  });

  test("its asset deleted separately: ready, without the asset", async () => {
    const { caller, video } = await world();
    const file = videoFile({ ...caller });
    await finish(await started(), ready(file));
    expect((await deleteAsset(db, file.id, { versions: null }, caller, seedOrigin(caller))).kind).toBe("written");
    expect(await shown(caller, video)).toMatchObject({ status: "ready", assetId: null });
  });
});

describe("a worker that is lost", () => {
  test("at each step: the next worker renders the video, which is charged once", async () => {
    const { caller, video } = await world();
    const claimedOnly = await claimedJob(db);
    await expireLeases(db);
    const rendering = await started();
    await expireLeases(db);
    const last = await started();
    expect(await startVideo(db, claimedOnly)).toEqual({ kind: "gone" });
    for (const job of [claimedOnly, rendering]) {
      expect(await reportVideo(db, job, 0.9)).toBe("gone");
      expect(await finish(job, ready(videoFile({ ...caller })))).toBe("lost");
    }
    expect(await finish(last, ready(videoFile({ ...caller })))).toBe("ready");
    expect(await shown(caller, video)).toMatchObject({ billedSeconds: 3 });
    expect(await client`select from assets where tenant_id = ${caller.tenantId}`).toHaveLength(1);
    expect([await balance(caller), await drift(caller)]).toEqual([{ held: 0, used: 3 * PRICE }, []]);
  });

  test("two workers that end the video at once: charged once", async () => {
    const { caller } = await world();
    const first = await started();
    await expireLeases(db);
    const second = await started();
    const ends = [first, second, second].map((job) => finish(job, ready(videoFile({ ...caller }))));
    expect((await Promise.all(ends)).sort()).toEqual(["lost", "lost", "ready"]);
    expect([await balance(caller), await drift(caller)]).toEqual([{ held: 0, used: 3 * PRICE }, []]);
  });

  test("a retry: queued again, with its hold; after the last attempt: failed, not charged", async () => {
    const { caller, video, tenantId } = await world();
    const failure = { error: "x", delaySeconds: 0, maxAttempts: 2 };
    const first = await started();
    await reportVideo(db, first, 0.5);
    expect(await retryJob(db, first, failure, operatorOrigin())).toBe("retried");
    expect(await shown(caller, video)).toMatchObject({ status: "queued", progress: 0 });
    expect((await balance(caller)).held).toBe(3 * PRICE);
    const second = await started();
    expect(await retryJob(db, first, failure, operatorOrigin())).toBe("lost");
    expect(await retryJob(db, second, failure, operatorOrigin())).toBe("exhausted");
    expect(await shown(caller, video)).toMatchObject({ status: "failed", error: { code: "internal" }, ...NOT_CHARGED });
    expect(await deliveredTypes(db, tenantId, video.id)).toEqual(["video.failed"]);
    expect([await balance(caller), await drift(caller)]).toEqual([{ held: 0, used: 0 }, []]);
  });

  test("a cancellation during the rendering: the renewal of the lease fails; the end of the job changes nothing", async () => {
    const { caller, video } = await world();
    const job = await started();
    await deleteVideo(db, video.id, { versions: null, managesFiles: true }, caller, seedOrigin(caller));
    expect(await renewJob(db, job, 60)).toBe(false);
    expect(await reportVideo(db, job, 0.9)).toBe("gone");
    expect(await finish(job, ready(videoFile({ ...caller })))).toBe("lost");
    expect(await shown(caller, video)).toMatchObject({ status: "canceled", ...NOT_CHARGED });
    expect([await balance(caller), await drift(caller)]).toEqual([{ held: 0, used: 0 }, []]);
  });
});

describe("other ends of a video", () => {
  const revoke = (tenantId: string, id: string) =>
    client`update api_keys set revoked_at = now(), ended_at = now() where tenant_id = ${tenantId} and id = ${id}`;

  test("its key or an ancestor revoked, before, during or at the end of the rendering: failed with `key_ended`, not charged", async () => {
    for (const step of ["waits", "renders", "ends"]) {
      const { caller, record, avatarId, tenantId } = await world();
      await client`delete from jobs`;
      const child = await seedCaller(db, tenantId, {}, record);
      const { video } = await seedVideo(db, child.caller, avatarId);
      const job = step === "waits" ? await claimedJob(db) : await started();
      await revoke(tenantId, caller.id);
      if (step === "waits") expect(await startVideo(db, job)).toEqual({ kind: "must_end", reason: "key_ended" });
      if (step === "renders") expect(await reportVideo(db, job, 0.5)).toBe("key_ended");
      const result: VideoResult = step === "ends" ? ready(videoFile({ ...caller })) : { kind: "must_end" };
      expect(await finish(job, result)).toBe("failed");
      expect(await shown(caller, video)).toMatchObject({
        status: "failed",
        error: { code: "key_ended" },
        ...NOT_CHARGED,
      });
      expect(await findUsageSession(db, caller, video.sessionId)).toMatchObject({ endReason: "key_ended" });
      expect(await drift(caller)).toEqual([]);
    }
  });

  test("its key expired or its cap lowered: the video is rendered and charged, because it was admitted", async () => {
    const { caller, video } = await world();
    await client`
      update api_keys set expires_at = now() - interval '1 second', created_at = now() - interval '1 day',
        spend_limit_credit_micros = 0 where id = ${caller.id}`;
    expect(await finish(await started(), ready(videoFile({ ...caller })))).toBe("ready");
    expect(await shown(caller, video)).toMatchObject({ billedSeconds: 3 });
  });

  test("a report by an engine: refused; a release by any key: the video is canceled, for every `used`", async () => {
    for (const isEngine of [true, false]) {
      const { caller, video } = await world();
      const job = await started();
      const report = await reportUsage(db, video.sessionId, { used: PRICE, leaseSeconds: 60 }, caller);
      expect(report.kind).toBe("session_closed");
      const release = { isEngine, used: isEngine ? 2 * PRICE : null, reason: "changed my mind" };
      for (const _ of [1, 2]) {
        expect(await releaseSession(db, video.sessionId, release, caller, seedOrigin(caller))).toMatchObject({
          kind: "written",
          hasEnded: false,
          session: { status: "started", mustEnd: true },
        });
      }
      expect((await balance(caller)).held).toBe(3 * PRICE);
      expect(await reportVideo(db, job, 0.5)).toBe("canceled");
      expect(await finish(job, { kind: "must_end" })).toBe("canceled");
      expect(await shown(caller, video)).toMatchObject({ status: "canceled", error: null, ...NOT_CHARGED });
      const session = { status: "released", endReason: "released", releaseReason: release.reason };
      expect(await findUsageSession(db, caller, video.sessionId)).toMatchObject(session);
      expect([await balance(caller), await drift(caller)]).toEqual([{ held: 0, used: 0 }, []]);
    }
  });

  test("its session ended by the operator or by the lease: failed with `session_ended`, not charged", async () => {
    for (const by of ["operator", "sweep"]) {
      const { caller, video, tenantId } = await world();
      const job = await started();
      if (by === "operator") {
        await endLostCall(db, tenantId, video.sessionId, "operator_ended", operatorOrigin());
      } else {
        await client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${video.sessionId}`;
        expect(await sweepSessions(db, tenantId, operatorOrigin())).toBe(1);
      }
      expect(await reportVideo(db, job, 0.5)).toBe("session_ended");
      expect(await finish(job, ready(videoFile({ ...caller })))).toBe("failed");
      const error = { code: "session_ended", detail: VIDEO_ERRORS.session_ended };
      expect(await shown(caller, video)).toMatchObject({ status: "failed", error, ...NOT_CHARGED });
      expect([await balance(caller), await drift(caller)]).toEqual([{ held: 0, used: 0 }, []]);
    }
  });

  test("no worker within a day: failed with `no_capacity`; a video that is being rendered, or a newer one: unchanged", async () => {
    const [old, rendered, lost, newer] = [await world(), await world(), await world(), await world()];
    await client`delete from jobs where target_id in (${old.video.id}, ${newer.video.id})`;
    for (const _ of [1, 2]) await started();
    await client`update jobs set leased_until = now() - interval '1 second' where target_id = ${lost.video.id}`;
    const ids = [old, rendered, lost].map(({ video }): string => video.id);
    await client`update videos set created_at = now() - interval '25 hours' where id in ${client(ids)}`;
    expect(await failWaitingVideos(db, 10, operatorOrigin())).toBe(2);
    const statusOf = async ({ caller, video }: Awaited<ReturnType<typeof world>>) =>
      (await shown(caller, video))?.status;
    expect(await Promise.all([old, rendered, lost, newer].map(statusOf))).toEqual([
      ...["failed", "rendering", "failed", "queued"],
    ] as never);
    expect(await shown(old.caller, old.video)).toMatchObject({ error: { code: "no_capacity" }, ...NOT_CHARGED });
    expect(await deliveredTypes(db, lost.tenantId, lost.video.id)).toEqual(["video.failed"]);
    for (const { caller } of [old, rendered, lost, newer]) expect(await drift(caller)).toEqual([]);
    expect(await failWaitingVideos(db, 10, operatorOrigin())).toBe(0);
  });
});

test("the files of old videos: deleted, except the sources of avatars; their videos remain", async () => {
  const worlds = [await world(), await world(), await world(), await world()];
  const files = [];
  for (const _ of worlds) {
    const job = await started();
    const of = worlds.find(({ video }) => video.id === job.targetId);
    if (!of) throw new Error("another video");
    const file = videoFile({ ...of.caller });
    expect(await finish(job, ready(file))).toBe("ready");
    files.push({ ...of, file });
  }
  type Made = NonNullable<(typeof files)[0]>;
  const [old, used, pending, newer] = files as [Made, Made, Made, Made];
  const ids = [old, used, pending].map(({ file }): string => file.id);
  await client`update assets set created_at = now() - interval '9 days' where id in ${client(ids)}`;
  await client`update avatars set source_asset_id = ${used.file.id} where id = ${used.avatarId}`;
  await client`update avatars set pending_source_asset_id = ${pending.file.id} where id = ${pending.avatarId}`;
  const remove = () => deleteGeneratedFiles(db, 10, new Date(Date.now() - 8 * 86_400_000), operatorOrigin());
  expect([await remove(), await remove()]).toEqual([1, 0]);
  expect(await shown(old.caller, old.video)).toMatchObject({
    ...{ status: "ready", assetId: null, videoUrl: null, billedSeconds: 3 },
  });
  for (const { caller, video, file } of [used, pending, newer]) {
    expect(await shown(caller, video)).toMatchObject({ status: "ready", assetId: file.id });
  }
  expect([await bytesOf(old.caller), await bytesOf(used.caller)]).toEqual([0, 1000]);
  const events = await client`select action, actor_id from audit_events where target_id = ${old.file.id}`;
  expect([...events]).toEqual([{ action: "asset.deleted", actor_id: null }]);
});
