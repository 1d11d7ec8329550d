/** Assets and jobs under many concurrent writers: no job or asset is lost, duplicated, revived or left over. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { seededNumbers } from "@realtime-avatar/testing/credits/load";
import type { TestDb } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { jobClaim, READY_ASSET, ROOMY, withoutJobs } from "@realtime-avatar/testing/postgres/jobs";
import { inTurn } from "@realtime-avatar/testing/postgres/waits";
import {
  assetJob,
  inStatus,
  operatorOrigin,
  plannedAsset,
  plannedAvatar,
  preparationJob,
  seedAsset,
  seedAvatar,
  seedCaller,
  seedOrigin,
} from "@realtime-avatar/testing/seeds";
import { insertAvatar, updateAvatar } from "../avatars/avatars.ts";
import type { Caller } from "../callers/callers.ts";
import { type ClaimedJob, claimJob, renewJob, retryJob } from "../jobs/jobs.ts";
import { deleteAsset, insertAsset } from "./assets.ts";
import { finishAsset, startAsset } from "./processing.ts";

const SLOTS = 3;
const WORKERS = 8;
const database = await fileDatabase();
const { db } = database;
setDefaultTimeout(300_000);
withoutJobs(db);

/** Writes `count` assets with a job each. */
const seedJobs = async ({ tenantId }: Caller, count: number): Promise<void> => {
  const id = (prefix: string) => `'${prefix}_01h455vb4p' || lpad(i::text, 16, '0')`;
  await db.client.unsafe(`
    insert into assets (tenant_id, id, environment, kind, status, public_token, reserved_bytes, metadata, version, created_at, updated_at)
      select '${tenantId}', ${id("ast")}, 'live', 'image', 'uploaded', lpad(i::text, 43, '0'), 10, '{}', 1, now(), now()
      from generate_series(1, ${count}) i;
    insert into jobs (tenant_id, id, environment, kind, target_id, generation, run_at, created_at)
      select '${tenantId}', ${id("job")}, 'live', 'process_asset', ${id("ast")}, 1, now() - interval '1 second' * i, now()
      from generate_series(1, ${count}) i;
    insert into asset_meters values ('${tenantId}', 'live', ${count}, ${10 * count})`);
};

const letExpire = async ({ tenantId, lease }: ClaimedJob) => {
  await db.client`update jobs set leased_until = now() - interval '1 second' where tenant_id = ${tenantId} and lease = ${lease}`;
  await db.client`
    update job_slots set leased_until = now() - interval '1 second' where tenant_id = ${tenantId} and lease = ${lease}`;
};

const isLong = process.env["LONG"] === "1";
/** The number of jobs of each of five tenants. */
const JOBS = isLong ? 600 : 60;

test("jobs that are abandoned, or finished late or twice: each is done exactly once", async () => {
  const callers = await Promise.all(Array.from({ length: 5 }, () => seedCaller(db)));
  for (const caller of callers) await seedJobs(caller, JOBS);
  const next = seededNumbers(16);
  const finishedOnce = new Map<string, number>();
  const running = new Map<string, number>();
  const late: ClaimedJob[] = [];
  const seen = { mostRunning: 0, stale: 0, abandoned: 0, retried: 0 };
  const hold = ({ tenantId }: ClaimedJob, change: number) => {
    const count = (running.get(tenantId) ?? 0) + change;
    running.set(tenantId, count);
    seen.mostRunning = Math.max(seen.mostRunning, count);
  };
  const finish = async (job: ClaimedJob) => {
    const outcome = await finishAsset(db, job, READY_ASSET, operatorOrigin());
    const key = `${job.tenantId} ${job.targetId}`;
    if (outcome === "finished") finishedOnce.set(key, (finishedOnce.get(key) ?? 0) + 1);
    else seen.stale++;
  };
  const workOn = async (job: ClaimedJob, chance: number) => {
    if (chance < 0.03) {
      seen.abandoned++;
      await letExpire(job);
      late.push(job);
    } else if (chance < 0.05) {
      expect(await retryJob(db, job, { error: "x", delaySeconds: 0, maxAttempts: 1000 }, operatorOrigin())).toBe(
        "retried",
      );
      seen.retried++;
    } else {
      await finish(job);
      // A late end: another worker may have claimed the job, and may have ended it.
      if (chance < 0.07) await finish(job);
      if (chance > 0.97) for (const lost of late.splice(0)) await finish(lost);
    }
  };
  const worker = async () => {
    for (let misses = 0; misses < 200; ) {
      const job = await claimJob(db, jobClaim({ slots: SLOTS }));
      if (job === null) {
        const [left] = await db.client`select from jobs limit 1`;
        if (!left) return;
        misses++;
        continue;
      }
      misses = 0;
      hold(job, 1);
      const chance = next();
      if (chance < 0.5) expect(await startAsset(db, job)).not.toBeNull();
      if (chance < 0.2) expect(await renewJob(db, job, 60)).toBe(true);
      hold(job, -1);
      await workOn(job, chance);
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  for (const lost of late) await finish(lost);

  expect([finishedOnce.size, new Set(finishedOnce.values())]).toEqual([5 * JOBS, new Set([1])]);
  expect(seen.mostRunning).toBeLessThanOrEqual(SLOTS);
  expect(Math.min(seen.abandoned, seen.retried, seen.stale)).toBeGreaterThan(JOBS / 30);
  const [left] = await db.client`
    select (select count(*)::integer from jobs) as jobs,
      (select count(*)::integer from job_slots where lease is not null) as taken,
      (select count(*)::integer from assets where status = 'ready') as ready,
      (select count(*)::integer from audit_events where action = 'asset.ready') as events,
      (select count(distinct target_id || tenant_id)::integer from audit_events where action = 'asset.ready') as different,
      (select string_agg(distinct assets || ' ' || bytes, ',') from asset_meters) as meters`;
  const all = 5 * JOBS;
  const expected = { jobs: 0, taken: 0, ready: all, events: all, different: all, meters: `${JOBS} ${JOBS}` };
  expect({ ...left }).toEqual(expected);
});

test("jobs of a tenant, with many concurrent claims: at most as many run as it has slots", async () => {
  const caller = await seedCaller(db);
  await seedJobs(caller, 100);
  for (let round = 0; round < 10; round++) {
    const claims = await Promise.all(Array.from({ length: 20 }, () => claimJob(db, jobClaim({ slots: SLOTS }))));
    const jobs = claims.filter((job) => job !== null);
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(jobs.length);
    const [{ taken = 0 } = {}] = await db.client<{ taken: number }[]>`
      select count(*)::integer as taken from jobs where leased_until > now()`;
    expect(taken).toBe(jobs.length);
    expect(jobs.length).toBeGreaterThan(0);
    expect(jobs.length).toBeLessThanOrEqual(SLOTS);
    for (const job of jobs) await finishAsset(db, job, READY_ASSET, operatorOrigin());
  }
});

test("an asset, deleted and used by an avatar at once: one of the two is written", async () => {
  const caller = await seedCaller(db);
  const seen = new Set<string>();
  for (let round = 0; round < (isLong ? 200 : 10); round++) {
    const asset = await seedAsset(db, caller.tenantId);
    const existing = await seedAvatar(db, caller);
    const create = () => {
      const avatar = plannedAvatar(caller, { sourceAssetId: asset.id });
      return insertAvatar(db, avatar, preparationJob(avatar), caller, seedOrigin(caller));
    };
    const source = { sourceAssetId: asset.id };
    const change = () => updateAvatar(db, existing.id, source, inStatus("draft"), caller, seedOrigin(caller));
    const remove = () => deleteAsset(db, asset.id, { versions: null }, caller, seedOrigin(caller));
    // In the first rounds, each of the three locks the asset first once. In later rounds, chance decides.
    const isForced = round < 3;
    const work: (() => Promise<{ kind: string }>)[] = isForced
      ? [create, change, remove]
      : [create, change, remove, create, remove];
    const turn = [...work.slice(round % work.length), ...work.slice(0, round % work.length)];
    const lock = ({ client }: TestDb) => client`select from assets where id = ${asset.id} for update`;
    const outcomes = isForced ? await inTurn(database, lock, turn) : await Promise.all(turn.map((one) => one()));
    for (const { kind } of outcomes) seen.add(kind);
    const [row] = await db.client`
      select status, (
        select count(*)::integer from avatars where tenant_id = ${caller.tenantId} and source_asset_id = ${asset.id}
      ) as avatars
      from assets where tenant_id = ${caller.tenantId} and id = ${asset.id}`;
    expect(row?.["status"] === "deleted").toBe(row?.["avatars"] === 0);
  }
  expect([...seen].sort()).toEqual(expect.arrayContaining(["asset_not_usable", "in_use", "written"]));
});

test("the counters of the quota, after concurrent writes of every kind: match the stored rows", async () => {
  const callers = await Promise.all([seedCaller(db), seedCaller(db)]);
  const next = seededNumbers(7);
  const worker = async () => {
    for (let round = 0; round < (isLong ? 60 : 10); round++) {
      const caller = callers[round % 2] as Caller;
      const asset = plannedAsset(caller, { reservedBytes: 100 });
      await insertAsset(db, { asset, job: assetJob(asset), quota: ROOMY }, caller, seedOrigin(caller));
      const job = await claimJob(db, jobClaim({ slots: 20 }));
      const remove = deleteAsset(db, asset.id, { versions: null }, caller, seedOrigin(caller));
      if (job) {
        if (next() < 0.5) await startAsset(db, job);
        const failure = { error: "x", delaySeconds: 0, maxAttempts: 1 };
        if (next() < 0.3) await retryJob(db, job, failure, operatorOrigin());
        else
          await finishAsset(
            db,
            job,
            next() < 0.5 ? READY_ASSET : { kind: "failed", code: "empty", detail: "d" },
            operatorOrigin(),
          );
      }
      await remove;
      const kept = plannedAsset(caller, { reservedBytes: 50 });
      await insertAsset(db, { asset: kept, job: null, quota: ROOMY }, caller, seedOrigin(caller));
    }
  };
  await Promise.all([1, 2, 3, 4].map(worker));
  for (const { tenantId } of callers) {
    const [row] = await db.client`
      select (select row(assets, bytes)::text from asset_meters where tenant_id = ${tenantId}) as counted,
        (
          select row(count(*), coalesce(sum(reserved_bytes), 0))::text from assets
          where tenant_id = ${tenantId} and status not in ('failed', 'deleted')
        ) as stored,
        (
          select count(*)::integer from jobs join assets on assets.tenant_id = jobs.tenant_id and assets.id = target_id
          where jobs.tenant_id = ${tenantId} and status in ('ready', 'failed', 'deleted')
        ) as orphans`;
    expect(row?.["counted"]).toBe(row?.["stored"]);
    expect(row?.["orphans"]).toBe(0);
  }
});
