/**
 * Preparations under many concurrent writers: an avatar always has exactly one job for a pending preparation, is never
 * revived, and never shows an unprepared source.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import {
  FAILED_RESULT,
  holdPreparation,
  readyResult,
  seedAvatarIn,
} from "@realtime-avatar/testing/avatars/preparations";
import { seededNumbers } from "@realtime-avatar/testing/credits/load";
import type { TestDb } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { jobClaim, withoutJobs } from "@realtime-avatar/testing/postgres/jobs";
import { inTurn, whileHeld } from "@realtime-avatar/testing/postgres/waits";
import {
  inStatus,
  newJobId,
  operatorOrigin,
  plannedAvatar,
  preparationJob,
  seedAsset,
  seedAvatar,
  seedCaller,
  seedOrigin,
} from "@realtime-avatar/testing/seeds";
import { deleteAsset } from "../assets/assets.ts";
import type { Caller } from "../callers/callers.ts";
import { claimJob, renewJob, retryJob } from "../jobs/jobs.ts";
import { findAvatar, insertAvatar, prepareAvatar, updateAvatar } from "./avatars.ts";
import { finishPreparation, type PreparationResult, startPreparation } from "./preparations.ts";

const ROUNDS = process.env["LONG"] === "1" ? 600 : 24;
const ANY_STATUS = ["draft", "preprocessing", "ready", "failed", "disabled"] as const;
const database = await fileDatabase();
setDefaultTimeout(300_000);
const { db } = database;
withoutJobs(db);

const find = async (caller: Caller, { id }: AvatarRecord) => (await findAvatar(db, caller, id)) as AvatarRecord;
const update = (caller: Caller, { id }: AvatarRecord, changes: Parameters<typeof updateAvatar>[2]) =>
  updateAvatar(db, id, changes, inStatus(...ANY_STATUS), caller, seedOrigin(caller));
const jobsOf = async ({ id }: AvatarRecord) =>
  db.client<{ generation: number }[]>`select generation from jobs where target_id = ${id}`;
const lockAvatar =
  ({ id }: AvatarRecord) =>
  ({ client }: TestDb) =>
    client`select from avatars where id = ${id} for update`;
/**
 * Runs `all` at once, and returns their outcomes in this order. In the first rounds, each of them once locks the row of
 * `lock` first, and the others follow. In later rounds, chance decides.
 */
const atOnce = async <Outcome>(
  round: number,
  lock: (holder: TestDb) => PromiseLike<unknown>,
  all: readonly (() => Promise<Outcome>)[],
): Promise<Outcome[]> => {
  const first = round % all.length;
  const works = [...all.slice(first), ...all.slice(0, first)];
  const outcomes =
    round < all.length ? await inTurn(database, lock, works) : await Promise.all(works.map((one) => one()));
  return [...outcomes.slice(all.length - first), ...outcomes.slice(0, all.length - first)];
};

/** Checks the invariants of an avatar. */
const checkAvatar = async (caller: Caller, avatar: AvatarRecord): Promise<void> => {
  const now = await find(caller, avatar);
  const jobs = await jobsOf(avatar);
  const generations = jobs.map(({ generation }) => generation);
  if (now.status === "preprocessing") expect(generations).toEqual([now.generation]);
  else if (now.status === "ready" || now.status === "disabled") {
    // A pending preparation has a job. A job is for the latest generation.
    expect(generations).toEqual(generations.length === 1 || now.pendingSourceAssetId !== null ? [now.generation] : []);
  } else expect(generations).toEqual([]);
  if (now.status !== "ready" && now.status !== "disabled") expect(now.pendingSourceAssetId).toBeNull();
};

test("two ends of a preparation and a deletion, at once: the avatar is deleted, after at most one end", async () => {
  const caller = await seedCaller(db);
  const { id: sourceAssetId } = await seedAsset(db, caller.tenantId);
  const seen = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const avatar = await seedAvatar(db, caller, { sourceAssetId });
    const job = await holdPreparation(db, avatar, `${round}`);
    const finish = (result: PreparationResult) => () => finishPreparation(db, job, result, operatorOrigin());
    const outcomes = await atOnce<string>(round, lockAvatar(avatar), [
      finish(readyResult(1)),
      finish(FAILED_RESULT),
      async () => (await update(caller, avatar, { status: "deleted" })).kind,
    ]);
    expect(outcomes[2]).toBe("written");
    expect(outcomes.filter((outcome) => outcome === "finished").length).toBeLessThanOrEqual(1);
    const [row] = await db.client`
      select status, (select count(*)::integer from jobs where target_id = ${avatar.id}) as jobs, (
        select string_agg(action, ' ' order by id) from audit_events where target_id = ${avatar.id}
      ) as actions
      from avatars where id = ${avatar.id}`;
    expect([row?.["status"], row?.["jobs"]]).toEqual(["deleted", 0]);
    // No event follows a deletion. Ids of the same millisecond have no order.
    expect(row?.["actions"].split(" ").length).toBe(outcomes.includes("finished") ? 3 : 2);
    seen.add(outcomes.join(" "));
  }
  expect([...seen].sort()).toEqual(["finished lost written", "lost finished written", "lost lost written"]);
});

test("the end of a preparation and a new source, at once: serves the prepared source", async () => {
  const caller = await seedCaller(db);
  const [first, second] = [await seedAsset(db, caller.tenantId), await seedAsset(db, caller.tenantId)];
  const seen = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const status = (["preprocessing", "ready", "disabled"] as const)[round % 3] ?? "ready";
    const avatar = await seedAvatarIn(db, caller, status, { sourceAssetId: first.id });
    // A served avatar is prepared for another model.
    if (status !== "preprocessing") await update(caller, avatar, { modelId: "y" });
    const job = await holdPreparation(db, avatar, `${round}`);
    const [end, change] = await atOnce<string>(Math.floor(round / 3), lockAvatar(avatar), [
      () => finishPreparation(db, job, readyResult(job.generation), operatorOrigin()),
      async () => (await update(caller, avatar, { sourceAssetId: second.id })).kind,
    ]);
    expect(change).toBe("written");
    const now = await find(caller, avatar);
    const served = end === "finished" || status !== "preprocessing";
    expect(now).toMatchObject({
      status: served ? (status === "preprocessing" ? "ready" : status) : "preprocessing",
      sourceAssetId: served ? first.id : second.id,
      pendingSourceAssetId: served ? second.id : null,
      generation: job.generation + 1,
      cacheVersion: avatar.cacheVersion + (end === "finished" ? 1 : 0),
    });
    await checkAvatar(caller, avatar);
    seen.add(`${status} ${end}`);
  }
  const all = ["disabled", "preprocessing", "ready"].flatMap((status) => [`${status} finished`, `${status} lost`]);
  expect([...seen].sort()).toEqual(all);
});

test("several requests to prepare, at once: one written, one job", async () => {
  const caller = await seedCaller(db);
  const { id: sourceAssetId } = await seedAsset(db, caller.tenantId);
  for (let round = 0; round < ROUNDS; round++) {
    const status = round % 2 ? "failed" : "ready";
    const avatar = await seedAvatarIn(db, caller, status, { sourceAssetId });
    const outcomes = await Promise.all(
      Array.from({ length: 4 }, () =>
        prepareAvatar(db, avatar.id, avatar.version, newJobId(), caller, seedOrigin(caller)),
      ),
    );
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["unchanged", "unchanged", "unchanged", "written"]);
    expect(await find(caller, avatar)).toMatchObject({ generation: 2, version: avatar.version + 1 });
    await checkAvatar(caller, avatar);
  }
});

test("an asset, deleted and served or prepared at once: one of the two is written", async () => {
  const caller = await seedCaller(db);
  const first = await seedAsset(db, caller.tenantId);
  const seen = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const asset = await seedAsset(db, caller.tenantId);
    const ready = await seedAvatarIn(db, caller, "ready", { sourceAssetId: first.id });
    const lockAsset = ({ client }: TestDb) => client`select from assets where id = ${asset.id} for update`;
    const outcomes = await atOnce<string>(round, lockAsset, [
      async () => (await update(caller, ready, { sourceAssetId: asset.id })).kind,
      async () => (await deleteAsset(db, asset.id, { versions: null }, caller, seedOrigin(caller))).kind,
      async () => {
        const avatar = plannedAvatar(caller, { sourceAssetId: asset.id });
        return (await insertAvatar(db, avatar, preparationJob(avatar), caller, seedOrigin(caller))).kind;
      },
    ]);
    for (const kind of outcomes) seen.add(kind);
    const [row] = await db.client`
      select status = 'deleted' as is_deleted, (
        select count(*)::integer from avatars where source_asset_id = assets.id or pending_source_asset_id = assets.id
      ) as avatars
      from assets where id = ${asset.id}`;
    expect(row?.["is_deleted"]).toBe(row?.["avatars"] === 0);
  }
  expect([...seen].sort()).toEqual(["asset_not_usable", "in_use", "written"]);
});

test("workers, changes and deletions, at random: every avatar reaches a final state", async () => {
  const callers = await Promise.all([seedCaller(db), seedCaller(db)]);
  const sources = new Map<string, string[]>();
  for (const { tenantId } of callers) {
    const assets = await Promise.all([1, 2, 3].map(() => seedAsset(db, tenantId)));
    sources.set(
      tenantId,
      assets.map(({ id }) => id),
    );
  }
  // Repeatable, except for the order in which the server grants locks.
  const number = seededNumbers(17);
  const next = (below: number): number => Math.floor(number() * below);
  const avatars: [Caller, AvatarRecord][] = [];
  for (const caller of callers) {
    const sourceAssetId = sources.get(caller.tenantId)?.[0] ?? "";
    for (let count = 0; count < 8; count++) avatars.push([caller, await seedAvatar(db, caller, { sourceAssetId })]);
  }
  let isBusy = true;
  const change = async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [caller, avatar] = avatars[next(avatars.length)] as [Caller, AvatarRecord];
      const all = sources.get(caller.tenantId) ?? [];
      const choice = next(40);
      if (choice === 0) await update(caller, avatar, { status: "deleted" });
      else if (choice < 3) await update(caller, avatar, { sourceAssetId: null });
      else if (choice < 20) await update(caller, avatar, { sourceAssetId: all[next(3)] ?? null });
      else if (choice < 28) await update(caller, avatar, { modelId: `m ${next(3)}` });
      else {
        const { version } = await find(caller, avatar);
        await prepareAvatar(db, avatar.id, version, newJobId(), caller, seedOrigin(caller));
      }
    }
  };
  const work = async () => {
    for (;;) {
      const wasBusy = isBusy;
      const job = await claimJob(db, jobClaim({ slots: 3 }));
      if (job === null) {
        if (!wasBusy && (await db.client`select from jobs limit 1`).length === 0) return;
        continue;
      }
      const start = await startPreparation(db, job);
      if (start.kind !== "started") continue;
      const choice = next(10);
      if (choice === 0) await renewJob(db, job, 60);
      const failure = { error: "x", delaySeconds: 0, maxAttempts: 3 };
      if (choice < 2) await retryJob(db, job, failure, operatorOrigin());
      else {
        const result =
          choice < 4 ? FAILED_RESULT : { ...readyResult(job.generation), cacheManifestId: start.sourceAssetId };
        await finishPreparation(db, job, result, operatorOrigin());
      }
    }
  };
  const workers = [1, 2, 3, 4].map(work);
  await Promise.all(Array.from({ length: 6 }, change));
  isBusy = false;
  await Promise.all(workers);

  expect(await db.client`select from jobs`).toHaveLength(0);
  expect(await db.client`select from job_slots where lease is not null`).toHaveLength(0);
  for (const [caller, avatar] of avatars) {
    await checkAvatar(caller, avatar);
    const now = await find(caller, avatar);
    expect(now.status).not.toBe("preprocessing");
    // The manifest belongs to the served source.
    if (now.status === "ready" && now.sourceAssetId !== null) expect(now.cacheManifestId).toBe(now.sourceAssetId);
    const [events] = await db.client`
      select count(*)::integer as prepared from audit_events where target_id = ${avatar.id} and action = 'avatar.prepared'`;
    expect(now.cacheVersion).toBe(events?.["prepared"]);
  }
});

test("the end of a preparation, a change and a retry, at once: each locks the avatar before its job", async () => {
  const caller = await seedCaller(db);
  const { id: sourceAssetId } = await seedAsset(db, caller.tenantId);
  const works = [
    (job: Awaited<ReturnType<typeof holdPreparation>>) => finishPreparation(db, job, readyResult(1), operatorOrigin()),
    (job: Awaited<ReturnType<typeof holdPreparation>>) =>
      retryJob(db, job, { error: "x", delaySeconds: 0, maxAttempts: 5 }, operatorOrigin()),
    (_: unknown, avatar: AvatarRecord) => update(caller, avatar, { modelId: "y" }),
    (_: unknown, avatar: AvatarRecord) => update(caller, avatar, { status: "deleted" }),
  ];
  for (const [at, work] of works.entries()) {
    const avatar = await seedAvatar(db, caller, { sourceAssetId });
    const job = await holdPreparation(db, avatar, `${at}`);
    await whileHeld(
      database,
      ({ client }) => client`select from avatars where id = ${avatar.id} for update`,
      () => Promise.resolve<unknown>(work(job, avatar)),
      async () => expect(await db.client`select from jobs where id = ${job.id} for update skip locked`).toHaveLength(1),
    );
  }
});
