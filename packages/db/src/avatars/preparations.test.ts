/** The jobs of preparations: their start and end, and the state of the avatar. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { AssetStatus } from "@realtime-avatar/domain/assets/status";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import type { CreateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import { FAILED_RESULT, readyResult, seedAvatarIn } from "@realtime-avatar/testing/avatars/preparations";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import {
  claimedJob,
  jobClaim,
  jobsLeft,
  readAuditTrail,
  takenSlots,
  withoutJobs,
} from "@realtime-avatar/testing/postgres/jobs";
import {
  findTestCaller,
  inStatus,
  newClaim,
  newJobId,
  operatorOrigin,
  plannedAvatar,
  preparationJob,
  seedAsset,
  seedAvatar,
  seedCaller,
  seedKey,
  seedOrigin,
  seedTenant,
} from "@realtime-avatar/testing/seeds";
import type { Caller } from "../callers/callers.ts";
import { type ClaimedJob, claimJob, retryJob } from "../jobs/jobs.ts";
import { findAvatar, insertAvatar, prepareAvatar, updateAvatar } from "./avatars.ts";
import { finishPreparation, type PreparationResult, startPreparation } from "./preparations.ts";

let caller: Caller;
const { db } = await serviceDatabase();
withoutJobs(db);
beforeEach(async () => {
  caller = await seedCaller(db);
});

const seed = async (fields: Partial<CreateAvatar> = {}, status: AssetStatus = "ready") => {
  const asset = await seedAsset(db, caller.tenantId, "live", "image", status);
  return { asset, avatar: await seedAvatar(db, caller, { sourceAssetId: asset.id, ...fields }) };
};
const claimed = () => claimedJob(db);
const find = async ({ id }: AvatarRecord, by = caller) => (await findAvatar(db, by, id)) as AvatarRecord;
const remove = async ({ id }: AvatarRecord) => {
  const from = inStatus("draft", "preprocessing", "ready", "failed", "disabled");
  expect((await updateAvatar(db, id, { status: "deleted" }, from, caller, seedOrigin(caller))).kind).toBe("written");
};
const finish = (job: ClaimedJob, result: PreparationResult = readyResult(job.generation)) =>
  finishPreparation(db, job, result, operatorOrigin());
const retry = (job: ClaimedJob, maxAttempts: number | null = 5) =>
  retryJob(db, job, { error: "x".repeat(600), delaySeconds: 0, maxAttempts }, operatorOrigin());

describe("a preparation", () => {
  test("a preparation, started and finished: a served avatar", async () => {
    const { asset, avatar } = await seed();
    const job = await claimed();
    expect(job).toMatchObject({ kind: "prepare_avatar", targetId: avatar.id, generation: 1, attempts: 1 });
    expect(await startPreparation(db, job)).toEqual({ kind: "started", avatar, sourceAssetId: asset.id, asset });
    const { kind, ...result } = readyResult(1);
    const origin = operatorOrigin();
    expect(await finishPreparation(db, job, { kind, ...result }, origin)).toBe("finished");
    const expected = { ...avatar, ...result, status: "ready", cacheVersion: 1, version: 2, updatedAt: origin.now };
    expect(await find(avatar)).toEqual(expected as AvatarRecord);
    expect([await jobsLeft(db), await takenSlots(db)]).toEqual([0, 0]);
    expect(await readAuditTrail(db, avatar)).toEqual([
      { action: "avatar.created", actor_id: caller.id },
      { action: "avatar.prepared", actor_id: null },
    ]);
    // Twice.
    expect([await finish(job), await finish(job, FAILED_RESULT)]).toEqual(["lost", "lost"]);
    expect(await find(avatar)).toEqual(expected as AvatarRecord);
    expect(await startPreparation(db, job)).toEqual({ kind: "gone" });
  });

  test("a preparation, failing for a new avatar: failed, and can be prepared again", async () => {
    const { avatar } = await seed();
    expect(await finish(await claimed(), FAILED_RESULT)).toBe("finished");
    const { kind: _, ...said } = FAILED_RESULT;
    const failed = await find(avatar);
    expect(failed).toEqual({ ...avatar, ...said, status: "failed", version: 2, updatedAt: failed.updatedAt });
    expect((await readAuditTrail(db, avatar)).at(-1)).toEqual({ action: "avatar.preparation_failed", actor_id: null });
    const again = await prepareAvatar(db, avatar.id, 2, newJobId(), caller, seedOrigin(caller));
    expect(again).toMatchObject({ kind: "written", avatar: { status: "preprocessing", error: null, checks: [] } });
    expect(await finish(await claimed())).toBe("finished");
    expect(await find(avatar)).toMatchObject({ status: "ready", error: null, generation: 2, cacheVersion: 1 });
  });

  test.each(["ready", "disabled"] as const)(
    "a preparation, failing for an avatar in status %s: the avatar keeps its prepared files",
    async (status) => {
      const { asset } = await seed();
      await db.client`delete from jobs`;
      const avatar = await seedAvatarIn(db, caller, status, { sourceAssetId: asset.id });
      const other = await seedAsset(db, caller.tenantId);
      const change = { sourceAssetId: other.id };
      await updateAvatar(db, avatar.id, change, inStatus(status), caller, seedOrigin(caller));
      const job = await claimed();
      expect(await startPreparation(db, job)).toMatchObject({ sourceAssetId: other.id, asset: other });
      expect(await finish(job, FAILED_RESULT)).toBe("finished");
      const { kind: _, ...said } = FAILED_RESULT;
      const now = await find(avatar);
      expect(now).toEqual({ ...avatar, ...said, generation: 2, version: avatar.version + 2, updatedAt: now.updatedAt });
    },
  );

  test("the checks of a preparation, with unusual text and numbers: stored unchanged", async () => {
    const { avatar } = await seed();
    const measured = [0.1, -0.5, 1e21, 5e-324, null];
    const detail = `{"a",\\ 'é' 😀 ${"x".repeat(480)}`;
    const checks = measured.map(
      (one) => ({ code: "brightness", verdict: "warn", measured: one, limit: one, detail }) as const,
    );
    await finish(await claimed(), { ...FAILED_RESULT, checks });
    expect((await find(avatar)).checks).toEqual(checks);
    const [row] = await db.client`select checks::text as text from avatars where id = ${avatar.id}`;
    expect(row?.["text"]).toBe(JSON.stringify(checks));
  });
});

describe("a job that comes too late", () => {
  const ends: [string, (job: ClaimedJob) => Promise<unknown>, unknown][] = [
    ["starting", (job) => startPreparation(db, job), { kind: "gone" }],
    ["finishing", (job) => finish(job), "lost"],
    ["failing", (job) => finish(job, FAILED_RESULT), "lost"],
    ["retrying", (job) => retry(job), "lost"],
    ["giving up", (job) => retry(job, 1), "lost"],
    ["being handed back", (job) => retry(job, null), "lost"],
  ];
  test.each(ends)("a late job of a deleted avatar, %s: no effect, and its slot is freed", async (_, end, outcome) => {
    const { avatar } = await seed();
    const job = await claimed();
    await remove(avatar);
    const deleted = await find(avatar);
    expect(deleted.status).toBe("deleted");
    // The worker may still be busy. It keeps its slot until it notices.
    expect([await jobsLeft(db), await takenSlots(db)]).toEqual([0, 1]);
    expect(await end(job)).toEqual(outcome);
    expect([await find(avatar), await jobsLeft(db), await takenSlots(db)]).toEqual([deleted, 0, 0]);
  });

  test.each(ends)("a late job of an older generation, %s: no effect", async (_, end, outcome) => {
    const { avatar } = await seed();
    const job = await claimed();
    await updateAvatar(db, avatar.id, { modelId: "y" }, inStatus("preprocessing"), caller, seedOrigin(caller));
    const newer = await find(avatar);
    expect(newer).toMatchObject({ generation: 2, status: "preprocessing" });
    expect(await end(job)).toEqual(outcome);
    expect([await find(avatar), await jobsLeft(db)]).toEqual([newer, 1]);
    expect(await finish(await claimed())).toBe("finished");
  });

  test.each(ends)("a late job claimed by another worker, %s: no effect", async (_, end, outcome) => {
    const { avatar } = await seed();
    const job = await claimed();
    await db.client`update jobs set leased_until = now() - interval '1 second'`;
    const second = await claimed();
    expect(second).toMatchObject({ id: job.id, attempts: 1 });
    expect(await end(job)).toEqual(outcome);
    expect(await find(avatar)).toEqual(avatar);
    expect(await finish(second)).toBe("finished");
  });

  test.each([
    ["deleted", "status = 'deleted'"],
    ["of another generation", "generation = 7"],
  ])("a leftover job of a replica of another version, for an avatar %s: removed", async (_, change) => {
    const { avatar } = await seed();
    await db.client.unsafe(`update avatars set ${change} where id = '${avatar.id}'`);
    const now = await find(avatar);
    expect(await startPreparation(db, await claimed())).toEqual({ kind: "gone" });
    expect([await find(avatar), await jobsLeft(db), await takenSlots(db)]).toEqual([now, 0, 0]);
    // An attempt that has begun is also removed.
    await db.client`insert into jobs (tenant_id, id, environment, kind, target_id, generation, run_at, created_at)
      values (${avatar.tenantId}, ${newJobId()}, 'live', 'prepare_avatar', ${avatar.id}, 1, now() - interval '1 second', now())`;
    expect(await finish(await claimed())).toBe("lost");
    expect([await find(avatar), await jobsLeft(db), await takenSlots(db)]).toEqual([now, 0, 0]);
  });
});

describe("the asset of a preparation", () => {
  test.each(["pending_upload", "uploaded", "processing"] as const)(
    "an asset, %s: the job waits for it without using an attempt",
    async (status) => {
      const { asset, avatar } = await seed({}, status);
      const job = await claimed();
      const now = async () => (await db.client`select clock_timestamp() as now`)[0]?.["now"].getTime();
      const before = await now();
      expect(await startPreparation(db, job)).toEqual({ kind: "waiting" });
      const [row] = await db.client`select attempts, lease, last_error, run_at from jobs`;
      expect({ ...row }).toEqual({ attempts: 0, lease: null, last_error: null, run_at: expect.any(Date) });
      expect(row?.["run_at"].getTime()).toBeGreaterThanOrEqual(before + 250);
      expect([await takenSlots(db), await find(avatar)]).toEqual([0, avatar]);
      // After a quarter of its age.
      await db.client`update jobs set run_at = now() - interval '1 second', created_at = now() - interval '40 seconds'`;
      const later = await now();
      expect(await startPreparation(db, await claimed())).toEqual({ kind: "waiting" });
      const [again] = await db.client`select run_at from jobs`;
      expect(again?.["run_at"].getTime()).toBeGreaterThanOrEqual(later + 10_000);
      expect(await claimJob(db, jobClaim())).toBeNull();
      await db.client`update jobs set run_at = now() - interval '1 second'`;
      await db.client`update assets set status = 'ready' where id = ${asset.id}`;
      expect(await startPreparation(db, await claimed())).toMatchObject({
        kind: "started",
        asset: { status: "ready" },
      });
    },
  );

  test("an asset, failed: the avatar fails with its detail", async () => {
    const { asset, avatar } = await seed({}, "processing");
    await db.client`
      update assets set status = 'failed', error_code = 'not_decodable', error_detail = 'The file is cut off.' where id = ${asset.id}`;
    const detail = "The file is cut off.";
    expect(await startPreparation(db, await claimed())).toEqual({ kind: "asset_failed", avatar, detail });
  });

  test.each(["deleted", "missing", "of another environment"])(
    "an asset, %s: not found by the preparation",
    async (which) => {
      const { asset, avatar } = await seed();
      if (which === "deleted") await db.client`update assets set status = 'deleted' where id = ${asset.id}`;
      else if (which === "missing") await db.client`delete from assets where id = ${asset.id}`;
      else await db.client`update assets set environment = 'test' where id = ${asset.id}`;
      const started = { kind: "started", avatar, sourceAssetId: asset.id, asset: null } as const;
      expect(await startPreparation(db, await claimed())).toEqual(started);
    },
  );

  test("an asset that a replica of another version has removed: the avatar fails", async () => {
    const { avatar } = await seed();
    await db.client`update avatars set source_asset_id = null where id = ${avatar.id}`;
    expect(await startPreparation(db, await claimed())).toMatchObject({
      kind: "asset_failed",
      detail: "The avatar has no source. Set sourceAssetId.",
    });
  });
});

describe("a test asset", () => {
  const SOURCE = "ast_test_no_face";
  const testCaller = async () => {
    const { secret } = await seedKey(db, await seedTenant(db), { environment: "test", scopes: ["*"] });
    return findTestCaller(db, secret.keyId);
  };

  test("a test asset, for an image or a video in test: prepared", async () => {
    const by = await testCaller();
    for (const sourceKind of ["image", "video"] as const) {
      const avatar = await seedAvatar(db, by, { sourceAssetId: SOURCE, sourceKind });
      const job = await claimed();
      expect(await startPreparation(db, job)).toEqual({ kind: "started", avatar, sourceAssetId: SOURCE, asset: null });
      expect(await finish(job)).toBe("finished");
      const change = { sourceAssetId: "ast_test_ready" };
      const changed = await updateAvatar(db, avatar.id, change, inStatus("ready"), by, seedOrigin(by));
      expect(changed).toMatchObject({ kind: "written", avatar: { pendingSourceAssetId: "ast_test_ready" } });
      expect(await finish(await claimed())).toBe("finished");
      expect(await find(avatar, by)).toMatchObject({ sourceAssetId: "ast_test_ready", cacheVersion: 2 });
    }
  });

  test.each([SOURCE, "ast_testing", "ast_test"])("a test asset's id, %s in live: not found", async (sourceAssetId) => {
    const avatar = plannedAvatar(caller, { sourceAssetId });
    const outcome = await insertAvatar(db, avatar, preparationJob(avatar), caller, seedOrigin(caller));
    expect(outcome).toEqual({ kind: "asset_not_found" });
    const draft = await seedAvatar(db, caller);
    const changed = await updateAvatar(db, draft.id, { sourceAssetId }, inStatus("draft"), caller, seedOrigin(caller));
    expect(changed).toEqual({ kind: "asset_not_found" });
    expect(await jobsLeft(db)).toBe(0);
  });

  test.each(["ast_testing", "ast_test", "xast_test_ready"])(
    "an id, %s in test: not a test asset",
    async (sourceAssetId) => {
      const by = await testCaller();
      const avatar = plannedAvatar(by, { sourceAssetId });
      const outcome = await insertAvatar(db, avatar, preparationJob(avatar), by, seedOrigin(by));
      expect(outcome).toEqual({ kind: "asset_not_found" });
    },
  );
});

describe("the retry of a preparation", () => {
  test("a retry, after the last attempt: the avatar fails without checks", async () => {
    const { avatar } = await seed();
    for (let attempt = 1; attempt < 3; attempt++) {
      const job = await claimed();
      expect(job.attempts).toBe(attempt);
      expect(await retry(job, 3)).toBe("retried");
      expect([await find(avatar), await takenSlots(db)]).toEqual([avatar, 0]);
      const [row] = await db.client`select last_error from jobs`;
      expect(row?.["last_error"]).toBe("x".repeat(500));
    }
    // A job that is handed back uses no attempt.
    expect(await retry(await claimed(), null)).toBe("retried");
    expect(await retry(await claimed(), 3)).toBe("exhausted");
    const failed = await find(avatar);
    const error = "The avatar could not be prepared, for a reason that is not in its source. Prepare it again.";
    expect(failed).toEqual({ ...avatar, status: "failed", error, version: 2, updatedAt: failed.updatedAt });
    expect([await jobsLeft(db), await takenSlots(db)]).toEqual([0, 0]);
    expect((await readAuditTrail(db, avatar)).map(({ action }) => action)).toEqual([
      "avatar.created",
      "avatar.preparation_failed",
    ]);
  });

  test("a retry, after the last attempt of a ready avatar: it keeps its prepared files", async () => {
    const { asset } = await seed();
    await db.client`delete from jobs`;
    const avatar = await seedAvatarIn(db, caller, "ready", { sourceAssetId: asset.id });
    await updateAvatar(db, avatar.id, { modelId: "y" }, inStatus("ready"), caller, seedOrigin(caller));
    expect(await retry(await claimed(), 1)).toBe("exhausted");
    expect(await find(avatar)).toMatchObject({
      status: "ready",
      error: expect.stringContaining("Prepare it again"),
      checks: [],
      cacheManifestId: avatar.cacheManifestId,
      pendingSourceAssetId: null,
    });
  });
});

test("a preparation, repeated with its Idempotency-Key: written once; a refusal stores no claim", async () => {
  const { avatar } = await seed();
  const prepare = (version: number, key: string) =>
    prepareAvatar(db, avatar.id, version, newJobId(), caller, seedOrigin(caller), {
      ...newClaim(key, "prepared"),
      request: `POST /api/v1/avatars/${avatar.id}/prepare`,
    });
  expect(await prepare(1, "a")).toEqual({ kind: "unchanged", avatar });
  expect(await db.client`select from idempotency_claims where tenant_id = ${caller.tenantId}`).toHaveLength(0);
  await finish(await claimed(), FAILED_RESULT);
  const outcomes = await Promise.all([prepare(2, "a"), prepare(2, "a"), prepare(2, "a")]);
  expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["replayed", "replayed", "written"]);
  const [replayed] = outcomes.filter(({ kind }) => kind === "replayed");
  expect(replayed).toMatchObject({ response: { status: 201, location: "/api/v1/avatars/prepared", etag: '"1"' } });
  expect([await find(avatar), await jobsLeft(db)]).toMatchObject([{ version: 3, generation: 2 }, 1]);
  expect((await readAuditTrail(db, avatar)).map(({ action }) => action)).toEqual([
    "avatar.created",
    "avatar.preparation_failed",
    "avatar.updated",
  ]);
});
