/** Jobs: claims, leases, slots and turns, and the effect of a job's end on its asset. */
import { describe, expect, test } from "bun:test";
import type { AssetRecord } from "@realtime-avatar/domain/assets/asset";
import type { JobRecord } from "@realtime-avatar/domain/job";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import {
  claimedJob,
  expireLeases,
  jobClaim,
  jobsLeft,
  ROOMY,
  readAuditTrail,
  takenSlots,
  withoutJobs,
} from "@realtime-avatar/testing/postgres/jobs";
import {
  assetJob,
  findTestCaller,
  operatorOrigin,
  plannedAsset,
  seedAsset,
  seedCaller,
  seedKey,
  seedOrigin,
} from "@realtime-avatar/testing/seeds";
import { deleteAsset, findAsset, insertAsset } from "../assets/assets.ts";
import { type AssetResult, failAbandonedUploads, finishAsset, startAsset } from "../assets/processing.ts";
import type { Caller } from "../callers/callers.ts";
import { type ClaimedJob, claimJob, jobStats, renewJob, retryJob } from "./jobs.ts";

const { db } = await serviceDatabase();
withoutJobs(db);

const add = async (caller: Caller, fields: Partial<JobRecord> = {}, assetFields: Partial<AssetRecord> = {}) => {
  const asset = plannedAsset(caller, assetFields);
  const job = assetJob(asset, fields);
  await insertAsset(db, { asset, job, quota: ROOMY }, caller, seedOrigin(caller));
  return { asset, job };
};
const addRemote = (caller: Caller) =>
  add(
    caller,
    {},
    {
      status: "pending_upload",
      remoteUrl: "https://example.com/",
      contentType: null,
      sizeBytes: null,
      reservedBytes: 5000,
    },
  );

const claim = (slots = 2) => claimJob(db, jobClaim({ slots }));
const claimed = (slots = 2): Promise<ClaimedJob> => claimedJob(db, { slots });

const READY = {
  kind: "ready",
  contentType: "image/jpeg",
  sizeBytes: 700,
  sha256: "ab".repeat(32),
  publicType: "image/webp",
} as const;
const FAILED = { kind: "failed", code: "not_decodable", detail: "The file is cut off." } as const;
const finish = (job: ClaimedJob, result: AssetResult = READY) => finishAsset(db, job, result, operatorOrigin());
const retry = (job: ClaimedJob, maxAttempts = 5, delaySeconds = 0) =>
  retryJob(db, job, { error: "x".repeat(600), delaySeconds, maxAttempts }, operatorOrigin());

const assetOfJob = (caller: Caller, { targetId }: JobRecord) => findAsset(db, caller, targetId as AssetRecord["id"]);
const meterOf = async ({ tenantId, environment }: Caller) => {
  const [row] = await db.client`
    select assets::integer, bytes::integer from asset_meters
    where tenant_id = ${tenantId} and environment = ${environment}`;
  return { ...row };
};

describe("the claim of a job", () => {
  test("a claim, with several jobs: the job that is due longest; no job before it is due", async () => {
    const caller = await seedCaller(db);
    const at = (seconds: number) => ({ runAt: new Date(Date.now() + seconds * 1000) });
    const { job: late } = await add(caller, at(-10));
    const { job: early } = await add(caller, at(-20));
    await add(caller, at(600));
    const first = await claimed(3);
    expect(first).toEqual({ ...early, attempts: 1, runsAlone: false, lease: expect.any(String) } as never);
    expect(await claim(3)).toMatchObject({ id: late.id });
    expect(await claim(3)).toBeNull();
    expect(await jobStats(db)).toEqual({ queued: 0, running: 2, oldestSeconds: 0 });
  });

  test("the longest wait of a job, with jobs of a tenant that has a running job: not counted; of another tenant: counted", async () => {
    const caller = await seedCaller(db);
    const long = { runAt: new Date(Date.now() - 600_000) };
    await add(caller, long);
    await add(caller, long);
    expect((await jobStats(db)).oldestSeconds).toBeGreaterThanOrEqual(599);
    await claimed(1);
    expect(await jobStats(db)).toEqual({ queued: 1, running: 1, oldestSeconds: 0 });
    await add(await seedCaller(db), { runAt: new Date(Date.now() - 60_000) });
    const { oldestSeconds } = await jobStats(db);
    expect(oldestSeconds).toBeWithin(59, 599);
    await expireLeases(db);
    expect((await jobStats(db)).oldestSeconds).toBeGreaterThanOrEqual(599);
  });

  test("a claim of other kinds: does not take the job", async () => {
    await add(await seedCaller(db));
    expect(await claimJob(db, jobClaim({ kinds: [] }))).toBeNull();
    expect(await jobStats(db)).toMatchObject({ queued: 1, running: 0 });
  });

  test("a claim, with a job whose lease has ended: takes the job", async () => {
    const caller = await seedCaller(db);
    const { job } = await add(caller);
    const lost = await claimed(1);
    expect(await claim(1)).toBeNull();
    await expireLeases(db);
    expect(await jobStats(db)).toMatchObject({ queued: 1, running: 0 });
    const second = await claimed(1);
    expect(second).toMatchObject({ id: job.id, attempts: 1, runsAlone: true });
    // The first worker has lost the job, and does not affect the second.
    expect(await renewJob(db, lost, 60)).toBe(false);
    expect(await startAsset(db, lost)).toBeNull();
    expect(await finish(lost)).toBe("lost");
    expect(await retry(lost)).toBe("lost");
    expect([await takenSlots(db), await jobsLeft(db)]).toEqual([1, 1]);
    expect(await finish(second)).toBe("finished");
    expect([await takenSlots(db), await jobsLeft(db)]).toEqual([0, 0]);
  });

  test("claims, while the number of slots changes: as many jobs as slots", async () => {
    const caller = await seedCaller(db);
    for (let at = 0; at < 8; at++) await add(caller);
    const [first, second] = [await claimed(2), await claimed(2)];
    expect(await claim(2)).toBeNull();
    const third = await claimed(3);
    expect(await claim(3)).toBeNull();
    expect(await finish(first)).toBe("finished");
    expect(await finish(third)).toBe("finished");
    // The first slot is free, and the second is still taken. A claim of one slot takes the first.
    expect(await claim(1)).not.toBeNull();
    expect(await claim(2)).toBeNull();
    expect(await retry(second)).toBe("retried");
    expect(await claim(2)).not.toBeNull();
    expect(await claim(2)).toBeNull();
    expect(await claim(0)).toBeNull();
  });
});

describe("the turns of tenants", () => {
  test("the turn of several tenants: first tenants that were never served, then the one served longest ago", async () => {
    const [flood, other, late] = [await seedCaller(db), await seedCaller(db), await seedCaller(db)];
    for (let at = 0; at < 50; at++) await add(flood);
    for (let at = 0; at < 3; at++) await add(other);
    const names = new Map<string, string>([flood, other, late].map(({ tenantId }, at) => [tenantId, "FOL"[at] ?? ""]));
    let turns = "";
    for (let at = 0; at < 10; at++) {
      if (at === 4) await add(late);
      // The order is by milliseconds.
      await Bun.sleep(2);
      const job = await claimed(2);
      turns += names.get(job.tenantId);
      await finish(job);
    }
    expect(turns).toBe("FOFOLFOFFF");
  });

  test("the turn of 80 tenants, some without due jobs: each tenant with due jobs is served", async () => {
    const callers: Caller[] = [];
    for (let at = 0; at < 80; at++) callers.push(await seedCaller(db));
    for (const [at, caller] of callers.entries()) {
      const runAt = new Date(Date.now() + (at % 4 === 0 ? 600_000 : -1000));
      for (let count = 0; count < 3; count++) await add(caller, { runAt });
    }
    const served = new Map<string, number>();
    for (let at = 0; at < 60; at++) {
      const { tenantId } = await claimed(2);
      served.set(tenantId, (served.get(tenantId) ?? 0) + 1);
      // After one round every tenant whose jobs are due was served once.
      if (at === 59) expect([served.size, new Set(served.values())]).toEqual([60, new Set([1])]);
    }
    for (let at = 0; at < 60; at++) await claimed(2);
    expect(await claim(2)).toBeNull();
    expect(await claim(3)).not.toBeNull();
  });
});

describe("the renewal of a lease", () => {
  test("a renewal of an overdue lease: extends the leases of the job and of the slot", async () => {
    await add(await seedCaller(db));
    const job = await claimed(1);
    await expireLeases(db);
    expect(await renewJob(db, job, 60)).toBe(true);
    expect(await claim(1)).toBeNull();
    const rows = await db.client`
      select from jobs join job_slots using (tenant_id, lease)
      where jobs.leased_until = job_slots.leased_until and jobs.leased_until > now() + interval '50 seconds'`;
    expect(rows).toHaveLength(1);
  });

  test("a renewal, after another job has taken the slot: fails", async () => {
    const caller = await seedCaller(db);
    await add(caller, { runAt: new Date(Date.now() - 5000) });
    const job = await claimed(1);
    const { job: next } = await add(caller, { runAt: new Date(0) });
    await expireLeases(db);
    expect(await claimed(1)).toMatchObject({ id: next.id });
    expect(await renewJob(db, job, 60)).toBe(false);
    // The finished work is still accepted.
    expect(await finish(job)).toBe("finished");
    expect([await takenSlots(db), await jobsLeft(db)]).toEqual([1, 1]);
  });
});

describe("the job of an upload", () => {
  test("an upload's job, started and finished: processing, then ready", async () => {
    const caller = await seedCaller(db);
    const { asset } = await add(caller);
    const job = await claimed();
    const started = await startAsset(db, job);
    expect(started).toEqual({ ...asset, status: "processing", version: 2, updatedAt: expect.any(Date) } as never);
    expect(await findAsset(db, caller, asset.id)).toEqual(started);
    // A second worker, which begins again, finds this state.
    expect(await startAsset(db, job)).toEqual(started);
    expect(await finish(job)).toBe("finished");
    const { kind: _, ...file } = READY;
    expect(await findAsset(db, caller, asset.id)).toMatchObject({
      ...file,
      status: "ready",
      reservedBytes: 700,
      version: 3,
    });
    expect([await jobsLeft(db), await takenSlots(db), await meterOf(caller)]).toEqual([
      0,
      0,
      { assets: 1, bytes: 700 },
    ]);
    expect(await readAuditTrail(db, asset)).toEqual([
      { action: "asset.created", actor_id: caller.id },
      { action: "asset.ready", actor_id: null },
    ]);
    // Twice.
    expect(await finish(job)).toBe("lost");
    expect(await finish(job, FAILED)).toBe("lost");
    expect(await readAuditTrail(db, asset)).toHaveLength(2);
  });

  test("an upload's job, failed: the asset fails, and the quota no longer counts it", async () => {
    const caller = await seedCaller(db);
    const { asset } = await add(caller);
    const job = await claimed();
    await startAsset(db, job);
    expect(await finish(job, FAILED)).toBe("finished");
    const error = { code: "not_decodable", detail: "The file is cut off." };
    expect(await findAsset(db, caller, asset.id)).toMatchObject({
      status: "failed",
      error,
      sha256: null,
      sizeBytes: 1000,
    });
    expect(await meterOf(caller)).toEqual({ assets: 0, bytes: 0 });
    expect((await readAuditTrail(db, asset)).at(-1)).toEqual({ action: "asset.failed", actor_id: null });
    expect(await deleteAsset(db, asset.id, { versions: null }, caller, seedOrigin(caller))).toMatchObject({
      kind: "written",
    });
    expect(await meterOf(caller)).toEqual({ assets: 0, bytes: 0 });
  });

  test("an upload's job, retried: after a delay; after the last attempt: failed", async () => {
    const caller = await seedCaller(db);
    const { asset } = await add(caller);
    for (let attempt = 1; attempt < 3; attempt++) {
      const job = await claimed();
      expect(job.attempts).toBe(attempt);
      expect(await startAsset(db, job)).toMatchObject({ status: "processing" });
      expect(await retry(job, 3, 600)).toBe("retried");
      expect(await findAsset(db, caller, asset.id)).toMatchObject({ status: "uploaded", error: null });
      expect([await claim(), await takenSlots(db)]).toEqual([null, 0]);
      expect(await jobStats(db)).toEqual({ queued: 0, running: 0, oldestSeconds: 0 });
      const [row] = await db.client`
        update jobs set run_at = now() - interval '8 seconds' returning last_error as error, attempts, lease, leased_until as until`;
      expect({ ...row }).toEqual({ error: "x".repeat(500), attempts: attempt, lease: null, until: null });
      expect((await jobStats(db)).oldestSeconds).toBeGreaterThanOrEqual(7);
    }
    const last = await claimed();
    await startAsset(db, last);
    expect(await retry(last, 3)).toBe("exhausted");
    expect(await findAsset(db, caller, asset.id)).toMatchObject({ status: "failed", error: { code: "internal" } });
    expect([await jobsLeft(db), await takenSlots(db), await meterOf(caller)]).toEqual([0, 0, { assets: 0, bytes: 0 }]);
    expect((await readAuditTrail(db, asset)).map(({ action }) => action)).toEqual(["asset.created", "asset.failed"]);
    expect(await retry(last, 3)).toBe("lost");
  });

  test("an upload's job, after the death of all its workers: ended at once", async () => {
    const caller = await seedCaller(db);
    await add(caller);
    // The first death costs no attempt.
    for (let death = 0; death < 4; death++) {
      await claimed();
      await expireLeases(db);
    }
    const job = await claimed();
    expect(job.attempts).toBe(4);
    expect(await retry(job, 3)).toBe("exhausted");
    expect(await assetOfJob(caller, job)).toMatchObject({ status: "failed" });
  });
});

test("an import, retried: pending until its file has arrived", async () => {
  const caller = await seedCaller(db);
  const { asset } = await addRemote(caller);
  const job = await claimed();
  expect(await startAsset(db, job)).toEqual(asset);
  expect(await retry(job)).toBe("retried");
  expect(await findAsset(db, caller, asset.id)).toEqual(asset);
  const again = await claimed();
  expect(await startAsset(db, again)).toEqual(asset);
  expect(await meterOf(caller)).toEqual({ assets: 1, bytes: 5000 });
  expect(await finish(again, { ...READY, publicType: null })).toBe("finished");
  expect(await findAsset(db, caller, asset.id)).toMatchObject({ status: "ready", publicType: null, sizeBytes: 700 });
  expect(await meterOf(caller)).toEqual({ assets: 1, bytes: 700 });
});

test("a deleted asset whose job ends later: not revived; the slot is freed", async () => {
  const caller = await seedCaller(db);
  const ends: ((job: ClaimedJob) => Promise<unknown>)[] = [
    (job) => finish(job),
    (job) => finish(job, FAILED),
    (job) => retry(job),
    (job) => retry(job, 1),
    (job) => renewJob(db, job, 60),
    async (job) => [await startAsset(db, job), await renewJob(db, job, 60)],
  ];
  for (const [at, end] of ends.entries()) {
    const { asset } = await add(caller);
    const job = await claimed();
    if (at % 2) await startAsset(db, job);
    expect(await deleteAsset(db, asset.id, { versions: null }, caller, seedOrigin(caller))).toMatchObject({
      kind: "written",
    });
    const deleted = await findAsset(db, caller, asset.id);
    // The worker may still be busy. It keeps its slot until it notices.
    expect(await takenSlots(db)).toBe(1);
    expect(await end(job)).toEqual(["lost", "lost", "lost", "lost", false, [null, false]][at]);
    expect(await findAsset(db, caller, asset.id)).toEqual(deleted);
    expect([await takenSlots(db), await jobsLeft(db), await meterOf(caller)]).toEqual([0, 0, { assets: 0, bytes: 0 }]);
  }
});

test("an ended asset whose job still exists: unchanged", async () => {
  const caller = await seedCaller(db);
  const { asset } = await add(caller);
  const job = await claimed();
  await db.client`update assets set status = 'deleted' where id = ${asset.id}`;
  expect(await startAsset(db, job)).toBeNull();
  expect(await finish(job)).toBe("lost");
  expect([(await findAsset(db, caller, asset.id))?.status, await jobsLeft(db)]).toEqual(["deleted", 0]);
});

test("an upload without a file after a day: failed; an import without a file: not failed", async () => {
  const [one, two] = [await seedCaller(db), await seedCaller(db)];
  const { secret } = await seedKey(db, one.tenantId, { environment: "test", scopes: ["*"] });
  const inTest = await findTestCaller(db, secret.keyId);
  const uploads: AssetRecord[] = [];
  for (const caller of [one, two, inTest]) {
    const asset = plannedAsset(caller, { status: "pending_upload", reservedBytes: 500 });
    await insertAsset(db, { asset, job: null, quota: ROOMY }, caller, seedOrigin(caller));
    uploads.push(asset);
  }
  const { asset: imported } = await addRemote(one);
  const fresh = await seedAsset(db, one.tenantId, "live", "image", "pending_upload");
  const old = [...uploads, imported].map(({ id }) => id);
  await db.client`update assets set created_at = now() - interval '24 hours 1 second' where id = any(${old})`;
  await db.client`update assets set created_at = now() - interval '23 hours' where id = ${fresh.id}`;
  expect(await failAbandonedUploads(db, 2, operatorOrigin())).toBe(2);
  expect(await failAbandonedUploads(db, 2, operatorOrigin())).toBe(1);
  expect(await failAbandonedUploads(db, 2, operatorOrigin())).toBe(0);
  for (const [at, upload] of uploads.entries()) {
    const asset = await findAsset(db, [one, two, inTest][at] as Caller, upload.id);
    expect(asset).toMatchObject({ status: "failed", version: 2, error: { code: "not_uploaded" } });
    expect((await readAuditTrail(db, upload)).at(-1)).toEqual({ action: "asset.failed", actor_id: null });
    const [event] = await db.client`
      select environment from audit_events where target_id = ${upload.id} and action = 'asset.failed'`;
    expect(event).toEqual({ environment: upload.environment });
  }
  expect(await findAsset(db, one, imported.id)).toMatchObject({ status: "pending_upload" });
  expect(await findAsset(db, one, fresh.id)).toMatchObject({ status: "pending_upload" });
  expect([await meterOf(one), await meterOf(two), await meterOf(inTest)]).toEqual([
    { assets: 2, bytes: 6000 },
    { assets: 0, bytes: 0 },
    { assets: 0, bytes: 0 },
  ]);
});
