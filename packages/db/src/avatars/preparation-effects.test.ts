/**
 * The effect of a change on the preparation of an avatar, in each status: CHANGE_EFFECTS of the domain, tested on the
 * database.
 */
import { describe, expect, test } from "bun:test";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import { CHANGE_EFFECTS, type Effect, type PreparationChange } from "@realtime-avatar/domain/avatars/preparation";
import { AVATAR_STATUSES, type AvatarStatus } from "@realtime-avatar/domain/avatars/status";
import { holdPreparation, readyResult, seedAvatarIn } from "@realtime-avatar/testing/avatars/preparations";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { inStatus, newJobId, operatorOrigin, seedAsset, seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import { deleteAsset } from "../assets/assets.ts";
import { findAvatar, prepareAvatar, updateAvatar } from "./avatars.ts";
import { finishPreparation } from "./preparations.ts";

/** Two sources. */
let served = "";
let other = "";
const { db } = await fileDatabase();
const caller = await seedCaller(db);
served = (await seedAsset(db, caller.tenantId)).id;
other = (await seedAsset(db, caller.tenantId)).id;

const jobsOf = async ({ id }: AvatarRecord) =>
  (
    await db.client`select id, kind, environment, generation, lease, attempts from jobs where target_id = ${id} order by id`
  ).map((row) => ({ ...row }));
const lastEvent = async ({ id }: AvatarRecord) => {
  const [row] = await db.client`
    select action, changed_fields as fields from audit_events where target_id = ${id} order by id desc limit 1`;
  return { ...row };
};
const update = (avatar: AvatarRecord, changes: Parameters<typeof updateAvatar>[2], jobId = newJobId()) =>
  updateAvatar(db, avatar.id, changes, { ...inStatus(...AVATAR_STATUSES), jobId }, caller, seedOrigin(caller));
const prepare = (avatar: AvatarRecord, jobId = newJobId()) =>
  prepareAvatar(db, avatar.id, avatar.version, jobId, caller, seedOrigin(caller));
const applyChange = (avatar: AvatarRecord, change: PreparationChange, jobId = newJobId()) => {
  if (change === "prepare") return prepare(avatar, jobId);
  const values = {
    sourceAssetId: { sourceAssetId: other },
    noSource: { sourceAssetId: null },
    modelId: { modelId: "other" },
  };
  return update(avatar, values[change], jobId);
};

/** An avatar with a source. A draft has a source only if an earlier version of the service wrote it. */
const seed = async (status: AvatarStatus): Promise<AvatarRecord> => {
  if (status !== "draft") return seedAvatarIn(db, caller, status, { sourceAssetId: served });
  const avatar = await seedAvatarIn(db, caller, "draft");
  await db.client`update avatars set source_asset_id = ${served} where id = ${avatar.id}`;
  return { ...avatar, sourceAssetId: served };
};

const all = (Object.keys(CHANGE_EFFECTS) as PreparationChange[]).flatMap((change) =>
  AVATAR_STATUSES.map((status): [PreparationChange, AvatarStatus, Effect] => [
    change,
    status,
    CHANGE_EFFECTS[change][status],
  ]),
);

test.each(all)("the change %s of an avatar in status %s: %s", async (change, status, effect) => {
  const avatar = await seed(status);
  const jobs = await jobsOf(avatar);
  const jobId = newJobId();
  const outcome = await applyChange(avatar, change, jobId);
  const now = (await findAvatar(db, caller, avatar.id)) as AvatarRecord;
  if (effect === "refuse") {
    expect(outcome).toEqual({ kind: "unchanged", avatar });
    expect([now, await jobsOf(avatar)]).toEqual([avatar, jobs]);
    return;
  }
  expect(outcome).toEqual({ kind: "written", avatar: now });
  const isBackground = effect === "prepare_in_background";
  const starts = effect === "prepare" || isBackground;
  const source = { sourceAssetId: other, noSource: null, modelId: served, prepare: served }[change];
  expect(now).toEqual({
    ...avatar,
    modelId: change === "modelId" ? "other" : avatar.modelId,
    status: effect === "prepare" ? "preprocessing" : status,
    sourceAssetId: isBackground ? served : source,
    pendingSourceAssetId: isBackground && source !== served ? source : null,
    generation: avatar.generation + (starts ? 1 : 0),
    error: effect === "prepare" ? null : avatar.error,
    checks: effect === "prepare" ? [] : avatar.checks,
    version: avatar.version + 1,
    updatedAt: now.updatedAt,
  });
  const job = {
    id: jobId,
    kind: "prepare_avatar",
    environment: "live",
    generation: now.generation,
    lease: null,
    attempts: 0,
  };
  // Only in the status `preprocessing` does a pending job still have work.
  expect(await jobsOf(avatar)).toEqual(starts ? [job] : []);
  const { action, fields } = (await lastEvent(avatar)) as { action: string; fields: string[] };
  expect(action).toBe("avatar.updated");
  const names = ["modelId", "sourceAssetId", "pendingSourceAssetId", "status"] as const;
  expect(fields).toEqual(names.filter((name) => now[name] !== avatar[name]));
});

describe("a change that starts no preparation", () => {
  test.each(AVATAR_STATUSES)(
    "a change of an avatar in status %s, with unchanged values: no preparation starts",
    async (status) => {
      const avatar = await seed(status);
      const jobs = await jobsOf(avatar);
      const { kind } = await update(avatar, { sourceAssetId: served, modelId: avatar.modelId, displayName: "y" });
      expect(kind).toBe(status === "deleted" ? "unchanged" : "written");
      expect(await jobsOf(avatar)).toEqual(jobs);
      expect(await findAvatar(db, caller, avatar.id)).toMatchObject({ status, generation: avatar.generation });
    },
  );

  test.each(["draft", "ready", "failed", "disabled"] as const)(
    "a change, without a source in status %s: no preparation starts",
    async (status) => {
      const avatar = await seed(status);
      await update(avatar, { sourceAssetId: null });
      await update(avatar, { modelId: "other" });
      const now = (await findAvatar(db, caller, avatar.id)) as AvatarRecord;
      expect(now).toMatchObject({ status, modelId: "other", sourceAssetId: null, generation: avatar.generation });
      expect(await prepare(now)).toEqual({ kind: "no_source", avatar: now });
      expect([await findAvatar(db, caller, avatar.id), await jobsOf(avatar)]).toEqual([now, []]);
    },
  );

  test("a preparation, of another version or a missing avatar: does not start", async () => {
    const avatar = await seed("failed");
    expect(await prepare({ ...avatar, version: avatar.version + 1 })).toEqual({ kind: "unchanged", avatar });
    expect(await prepare({ ...avatar, id: "ava_01h455vb4pex5vsknk084sn02q" })).toEqual({ kind: "not_found" });
    const stranger = await seedCaller(db);
    expect(await prepareAvatar(db, avatar.id, avatar.version, newJobId(), stranger, seedOrigin(stranger))).toEqual({
      kind: "not_found",
    });
    await db.client`update api_keys set revoked_at = now() where id = ${stranger.id}`;
    expect(await prepareAvatar(db, avatar.id, avatar.version, newJobId(), stranger, seedOrigin(stranger))).toEqual({
      kind: "stale",
    });
    expect(await jobsOf(avatar)).toEqual([]);
  });
});

describe("the replacement of a source", () => {
  const finish = async (avatar: AvatarRecord, lease: string) => {
    const job = await holdPreparation(db, avatar, lease);
    return finishPreparation(db, job, readyResult(job.generation), operatorOrigin());
  };

  test.each(["ready", "disabled"] as const)(
    "a replacement, of an avatar in status %s: the old source is served until the new one is ready",
    async (status) => {
      const avatar = await seed(status);
      await update(avatar, { sourceAssetId: other });
      expect(await finish(avatar, "swap")).toBe("finished");
      expect(await findAvatar(db, caller, avatar.id)).toMatchObject({
        status,
        sourceAssetId: other,
        pendingSourceAssetId: null,
        cacheVersion: 2,
        cacheManifestId: readyResult(2).cacheManifestId,
      });
      expect(await lastEvent(avatar)).toEqual({ action: "avatar.prepared", fields: [] });
    },
  );

  test("a replacement, followed by another one: only the job of the latest exists", async () => {
    const avatar = await seed("ready");
    const third = (await seedAsset(db, caller.tenantId)).id;
    await update(avatar, { sourceAssetId: other });
    const late = await holdPreparation(db, avatar, "late");
    const jobId = newJobId();
    const replaced = await update(avatar, { sourceAssetId: third }, jobId);
    const pending = { sourceAssetId: served, pendingSourceAssetId: third, generation: 3, status: "ready" };
    expect(replaced).toMatchObject({ kind: "written", avatar: pending } as never);
    expect(await lastEvent(avatar)).toMatchObject({ fields: ["pendingSourceAssetId"] });
    expect(await jobsOf(avatar)).toMatchObject([{ id: jobId, generation: 3 }]);
    expect(await finishPreparation(db, late, readyResult(2), operatorOrigin())).toBe("lost");
    expect(await findAvatar(db, caller, avatar.id)).toMatchObject(pending as never);
    // The same value again changes nothing.
    await update(avatar, { sourceAssetId: third });
    expect(await jobsOf(avatar)).toMatchObject([{ id: jobId }]);
    // Another model, and then a request to prepare again: both for the pending source.
    await update(avatar, { modelId: "other" });
    const now = (await findAvatar(db, caller, avatar.id)) as AvatarRecord;
    expect(await prepare(now)).toMatchObject({ kind: "written", avatar: { ...pending, generation: 5 } } as never);
    expect(await finish(avatar, "third")).toBe("finished");
    expect(await findAvatar(db, caller, avatar.id)).toMatchObject({ sourceAssetId: third, cacheVersion: 2 });
  });

  test("a replacement, cancelled by null: a late job changes nothing", async () => {
    const avatar = await seed("ready");
    await update(avatar, { sourceAssetId: other });
    const late = await holdPreparation(db, avatar, "late");
    const expected = { status: "ready", sourceAssetId: null, pendingSourceAssetId: null, generation: 2 };
    const outcome = await update(avatar, { sourceAssetId: null });
    expect(outcome).toMatchObject({ kind: "written", avatar: expected } as never);
    expect(await jobsOf(avatar)).toEqual([]);
    expect(await finishPreparation(db, late, readyResult(2), operatorOrigin())).toBe("lost");
    expect(await findAvatar(db, caller, avatar.id)).toMatchObject({ ...expected, cacheVersion: 1 } as never);
  });

  test("a replacement, cancelled by setting the served source: the served source is prepared again for the latest model", async () => {
    const avatar = await seed("ready");
    await update(avatar, { modelId: "other" });
    await update(avatar, { sourceAssetId: other });
    const late = await holdPreparation(db, avatar, "late");
    const jobId = newJobId();
    const outcome = await update(avatar, { sourceAssetId: served }, jobId);
    const expected = { status: "ready", sourceAssetId: served, pendingSourceAssetId: null, generation: 4 };
    expect(outcome).toMatchObject({ kind: "written", avatar: expected } as never);
    expect(await jobsOf(avatar)).toMatchObject([{ id: jobId, generation: 4 }]);
    expect(await finishPreparation(db, late, readyResult(3), operatorOrigin())).toBe("lost");
    expect(await finish(avatar, "again")).toBe("finished");
    expect(await findAvatar(db, caller, avatar.id)).toMatchObject({ ...expected, cacheVersion: 2 } as never);
  });

  test("the served source, set again during its preparation for a model: the preparation goes on", async () => {
    const avatar = await seed("ready");
    await update(avatar, { modelId: "other" });
    await update(avatar, { sourceAssetId: served, modelId: "other" });
    expect(await jobsOf(avatar)).toMatchObject([{ generation: 2 }]);
    // Null ends the preparation, because no source is left to prepare.
    await update(avatar, { sourceAssetId: null });
    expect(await jobsOf(avatar)).toEqual([]);
  });

  test("a replacement, followed by the served source with another model: the served source is prepared for the model", async () => {
    const avatar = await seed("ready");
    await update(avatar, { sourceAssetId: other });
    await update(avatar, { sourceAssetId: served, modelId: "other" });
    expect(await findAvatar(db, caller, avatar.id)).toMatchObject({ pendingSourceAssetId: null, generation: 3 });
    expect(await jobsOf(avatar)).toMatchObject([{ generation: 3 }]);
  });

  test("the deletion of the asset of a replacement: refused until the replacement is cancelled", async () => {
    const avatar = await seed("ready");
    const asset = await seedAsset(db, caller.tenantId);
    const remove = async () => (await deleteAsset(db, asset.id, { versions: null }, caller, seedOrigin(caller))).kind;
    await update(avatar, { sourceAssetId: asset.id });
    expect(await remove()).toBe("in_use");
    await update(avatar, { sourceAssetId: served });
    expect(await remove()).toBe("written");
  });
});
