/** Replicas of the version before preparations run beside this one, on the same tables, with functions of their own. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import type { AssetRecord } from "@realtime-avatar/domain/assets/asset";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import { newId } from "@realtime-avatar/domain/id";
import { session, type TestDatabase, type TestDb, testDatabase } from "@realtime-avatar/testing/database";
import { readyResult, seedAvatarIn } from "@realtime-avatar/testing/preparations";
import { random } from "@realtime-avatar/testing/random-bytes";
import {
  assetOf,
  avatarOf,
  inStatus,
  jobOf,
  newJobId,
  operatorOrigin,
  originOf,
  seedAsset,
  seedAvatar,
  seedCaller,
} from "@realtime-avatar/testing/seeds";
import type { Caller, PersonCaller } from "../../api-keys/callers.ts";
import { insertAsset } from "../../assets/assets.ts";
import { auditEvent } from "../../audit/audit-events.ts";
import { findAvatar, insertAvatar, prepareAvatar, updateAvatar } from "../../avatars/avatars.ts";
import { finishPreparation, startPreparation } from "../../avatars/preparations.ts";
import { type ClaimedJob, claimJob, finishAsset, startAsset } from "../../jobs/jobs.ts";
import { functionsSchema } from "../schema.ts";
import beforePreparations from "./before_preparations.sql" with { type: "text" };

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(120_000);

const { name: OLD, create: CREATE_OLD } = functionsSchema([beforePreparations]);
let database: TestDatabase;
let db: TestDb;
let caller: Caller;
beforeAll(async () => {
  database = await testDatabase();
  db = database.db;
  await db.client.unsafe(CREATE_OLD);
});
afterAll(() => database.close());
// A claim may serve any tenant.
beforeEach(async () => {
  await db.client`delete from jobs`;
  await db.client`delete from job_slots`;
  caller = await seedCaller(db);
});

/** A record as JSON with the names of columns. */
const columns = (record: object): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        name.replaceAll(/[A-Z]/g, (one) => `_${one.toLowerCase()}`),
        value,
      ]),
    ),
  );
/** A parameter of a function of the old version, from JSON. */
const as = (type: string, place: number): string => `json_populate_record(null::${OLD}.${type}, $${place}::text::json)`;
const askOld = async (text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> =>
  (await db.client.unsafe(text.replaceAll("old.", `${OLD}.`), values as never[])).map((row) => ({ ...row }));

const old = {
  create: async (avatar: AvatarRecord) => {
    const [row] = await askOld(
      `select kind from old.create_avatars(array[${as("caller", 1)}], array[1], array[${as("avatar", 2)}],
        array[${as("audit_event", 3)}], null, true, true)`,
      [columns(caller), columns(avatar), columns(auditEvent("avatar.created", avatar, originOf(caller)))],
    );
    expect(row).toEqual({ kind: "written" });
  },
  update: async (avatar: AvatarRecord, changes: object) => {
    const now = new Date();
    const [row] = await askOld(
      `select kind from old.update_avatar(${as("caller", 1)}, 'live', $2, ${as("avatar_change", 3)}, null, $4,
        ${as("audit_event", 5)})`,
      [
        columns(caller),
        avatar.id,
        columns({ ...changes, fields: Object.keys(changes), updatedAt: now }),
        ["draft", "preprocessing", "ready", "failed", "disabled"],
        columns(auditEvent("avatar.updated", avatar, originOf(caller))),
      ],
    );
    expect(row).toEqual({ kind: "written" });
  },
  deleteAsset: async ({ id }: AssetRecord) => {
    const event = auditEvent("asset.deleted", { ...caller, id }, originOf(caller));
    const text = `select outcome from old.delete_asset(${as("caller", 1)}, 'live', $2, null, ${as("audit_event", 3)})`;
    const [row] = await askOld(text, [columns(caller), id, columns(event)]);
    return row?.["outcome"];
  },
  claim: async (lease: string): Promise<ClaimedJob | null> => {
    const [row] = await askOld(
      `select (job).tenant_id as "tenantId", (job).id, (job).environment, (job).kind, (job).target_id as "targetId",
        (job).generation, (job).run_at as "runAt", attempts
       from old.claim_job($1, 60, 3, '{process_asset}')`,
      [lease],
    );
    return row ? ({ ...row, lease } as unknown as ClaimedJob) : null;
  },
  start: async (job: ClaimedJob) =>
    askOld(`select id from old.start_asset(${as("job", 1)}, $2)`, [columns(job), job.lease]),
  retry: async (job: ClaimedJob) => {
    const event = auditEvent("asset.failed", { ...job, id: job.targetId }, operatorOrigin());
    const text = `select old.retry_job(${as("job", 1)}, $2, 'x', 0, 100, 'y', ${as("audit_event", 3)}) as outcome`;
    return (await askOld(text, [columns(job), job.lease, columns(event)]))[0]?.["outcome"];
  },
  finish: async (job: ClaimedJob) => {
    const { kind, ...file } = READY_ASSET;
    const event = auditEvent("asset.ready", { ...job, id: job.targetId }, operatorOrigin());
    const text = `select old.finish_asset(${as("job", 1)}, $2, ${as("asset_result", 3)}, ${as("audit_event", 4)}) as done`;
    const [row] = await askOld(text, [columns(job), job.lease, columns({ ...file, status: kind }), columns(event)]);
    return row?.["done"];
  },
};

const READY_ASSET = {
  kind: "ready",
  contentType: "image/png",
  sizeBytes: 1,
  sha256: "0".repeat(64),
  publicType: null,
} as const;
const find = async ({ id }: AvatarRecord) => (await findAvatar(db, caller, id)) as AvatarRecord;
const claim = (lease: string) =>
  claimJob(db, { lease, leaseSeconds: 60, slots: 3, kinds: ["process_asset", "prepare_avatar"] });
const claimed = async (lease: string): Promise<ClaimedJob> => {
  const job = await claim(lease);
  if (!job) throw new Error("no job");
  return job;
};

test("two workers, of different versions: each job once, preparations by the new one only", async () => {
  const callers = [caller, await seedCaller(db), await seedCaller(db)];
  const avatars: [Caller, AvatarRecord][] = [];
  for (const by of callers) {
    for (let count = 0; count < 30; count++) {
      const asset = assetOf(by);
      const quota = { maxAssets: 1000, maxBytes: 1e9 };
      await insertAsset(db, { asset, job: jobOf(asset), quota }, by, originOf(by));
      avatars.push([by, await seedAvatar(db, by, { sourceAssetId: asset.id })]);
    }
  }
  const done = { old: 0, new: 0 };
  const isLeft = async () => (await db.client`select from jobs limit 1`).length > 0;
  const oldWorker = async (name: string) => {
    for (let at = 0; await isLeft(); at++) {
      const job = await old.claim(`${name} ${at}`);
      if (job === null) continue;
      expect(job.kind).toBe("process_asset");
      expect(await old.start(job)).toHaveLength(1);
      if (at % 7 === 0) expect(await old.retry(job)).toBe("retried");
      else if (await old.finish(job)) done.old++;
    }
  };
  const newWorker = async (name: string) => {
    for (let at = 0; await isLeft(); at++) {
      const job = await claim(`${name} ${at}`);
      if (job?.kind === "process_asset") {
        await startAsset(db, job);
        if ((await finishAsset(db, job, READY_ASSET, operatorOrigin())) === "finished") done.new++;
      } else if (job && (await startPreparation(db, job)).kind === "started") {
        expect(await finishPreparation(db, job, readyResult(1), operatorOrigin())).toBe("finished");
      }
    }
  };
  await Promise.all([oldWorker("old 1"), oldWorker("old 2"), newWorker("new 1"), newWorker("new 2")]);
  expect(done.old + done.new).toBe(avatars.length);
  expect(Math.min(done.old, done.new)).toBeGreaterThan(0);
  for (const [by, avatar] of avatars) {
    expect(await findAvatar(db, by, avatar.id)).toMatchObject({ status: "ready", cacheVersion: 1, version: 2 });
  }
  const [row] = await db.client`
    select count(*)::integer as events, count(distinct target_id)::integer as different from audit_events
    where action in ('avatar.prepared', 'asset.ready') and tenant_id = any(${callers.map(({ tenantId }) => tenantId)})`;
  expect({ ...row }).toEqual({ events: 2 * avatars.length, different: 2 * avatars.length });
  expect(await db.client`select from job_slots where lease is not null`).toHaveLength(0);
});

test("an avatar, created by an old replica: a draft that can be prepared", async () => {
  const asset = await seedAsset(db, caller.tenantId);
  const avatar: AvatarRecord = { ...avatarOf(caller), sourceAssetId: asset.id };
  await old.create(avatar);
  expect(await find(avatar)).toEqual(avatar);
  expect(await claim("a")).toBeNull();
  const outcome = await prepareAvatar(db, avatar.id, 1, newJobId(), caller, originOf(caller));
  expect(outcome).toMatchObject({ kind: "written", avatar: { status: "preprocessing", generation: 1 } });
  expect(await finishPreparation(db, await claimed("b"), readyResult(1), operatorOrigin())).toBe("finished");
});

test("an avatar, changed by an old replica: keeps what that does not know", async () => {
  const [first, second] = [await seedAsset(db, caller.tenantId), await seedAsset(db, caller.tenantId)];
  const avatar = await seedAvatarIn(db, caller, "ready", { sourceAssetId: first.id });
  await updateAvatar(db, avatar.id, { sourceAssetId: second.id }, inStatus("ready"), caller, originOf(caller));
  const before = await find(avatar);
  await old.update(avatar, { displayName: "y", status: "disabled" });
  const now = await find(avatar);
  expect(now).toEqual({ ...before, displayName: "y", status: "disabled", version: 4, updatedAt: now.updatedAt });
  expect(await finishPreparation(db, await claimed("c"), readyResult(2), operatorOrigin())).toBe("finished");
  expect(await find(avatar)).toMatchObject({ status: "disabled", sourceAssetId: second.id, cacheVersion: 2 });
});

test("an avatar, deleted by an old replica: not revived, and its job ends", async () => {
  const asset = await seedAsset(db, caller.tenantId);
  const avatar = await seedAvatar(db, caller, { sourceAssetId: asset.id });
  await old.update(avatar, { status: "deleted" });
  const deleted = await find(avatar);
  const job = await claimed("d");
  expect(await startPreparation(db, job)).toEqual({ kind: "gone" });
  expect(await finishPreparation(db, job, readyResult(1), operatorOrigin())).toBe("lost");
  expect([await find(avatar), await claim("e")]).toEqual([deleted, null]);
});

test("a pending source, deleted by an old replica: does not exist for the preparation", async () => {
  const [first, second] = [await seedAsset(db, caller.tenantId), await seedAsset(db, caller.tenantId)];
  const avatar = await seedAvatarIn(db, caller, "ready", { sourceAssetId: first.id });
  await updateAvatar(db, avatar.id, { sourceAssetId: second.id }, inStatus("ready"), caller, originOf(caller));
  expect([await old.deleteAsset(first), await old.deleteAsset(second)]).toEqual(["in_use", "written"]);
  expect(await startPreparation(db, await claimed("f"))).toMatchObject({ kind: "started", asset: null });
});

test("an old worker, alone with many preparations: puts them off, and finds its jobs", async () => {
  for (let count = 0; count < 33; count++) {
    const by = await seedCaller(db);
    await seedAvatar(db, by, { sourceAssetId: (await seedAsset(db, by.tenantId)).id });
  }
  // Of the last tenant in the order of their ids.
  const by = await seedCaller(db);
  const asset = assetOf(by);
  await insertAsset(db, { asset, job: jobOf(asset), quota: { maxAssets: 1, maxBytes: 1e9 } }, by, originOf(by));
  expect(await old.claim("g")).toBeNull();
  // docs/deployment.md
  await db.client`
    update jobs set run_at = now() + interval '1 year', lease = null, leased_until = null where kind = 'prepare_avatar'`;
  expect(await old.claim("h")).toMatchObject({ targetId: asset.id });
  expect(await claim("i")).toBeNull();
  await db.client`update jobs set run_at = now() - interval '1 second' where kind = 'prepare_avatar'`;
  expect(await claim("j")).toMatchObject({ kind: "prepare_avatar" });
});

test("an old replica and a person, each changing the other's objects: written", async () => {
  const { tenantId } = caller;
  const [id, sessionId, userAgent] = [newId("usr", new Date(), random), newId("uss", new Date(), random), null];
  await db.client`insert into users values (${tenantId}, ${id}, 'ada@example.com', 'Ada', 'owner', 1, now())`;
  await db.client`
    insert into user_sessions values (${tenantId}, ${sessionId}, ${id}, ${newId("psk", new Date(), random)},
      ${Buffer.alloc(32)}, ${userAgent}, 1, now(), now(), now() + interval '1 hour')`;
  const person = { ...caller, id, version: 1, sessionId, credentialKeyId: null, lineage: [], needsPasskey: false };
  const by = person as unknown as PersonCaller;
  const claimOf = (idempotencyKey: string) => ({
    ...{ request: "POST /api/v1/avatars live", idempotencyKey, bodyHash: new Uint8Array(32), status: 201 },
    ...{ location: null, etag: "1", responseBody: new Uint8Array(1), sealedFor: null },
  });
  const avatar = avatarOf(caller);
  expect(await insertAvatar(db, avatar, null, by, originOf(by), claimOf("a"))).toEqual({ kind: "written" });
  expect((await insertAvatar(db, avatarOf(caller), null, by, originOf(by), claimOf("a"))).kind).toBe("replayed");
  await old.update(avatar, { displayName: "by a key" });
  expect((await find(avatar)).displayName).toBe("by a key");
  const outcome = await updateAvatar(
    db,
    avatar.id,
    { displayName: "by a person" },
    inStatus("draft"),
    by,
    originOf(by),
  );
  expect(outcome.kind).toBe("written");

  const other = avatarOf(caller);
  await old.create(other);
  expect((await updateAvatar(db, other.id, { displayName: "x" }, inStatus("draft"), by, originOf(by))).kind).toBe(
    "written",
  );
  // While a change of the person waits, the old replica goes on: it reads no row of people.
  const holder = session(database.url);
  await holder.client`begin`;
  await holder.client`delete from user_sessions where id = ${sessionId}`;
  await old.update(avatar, { displayName: "meanwhile" });
  await holder.client`commit`;
  await holder.close();
  expect((await insertAvatar(db, avatarOf(caller), null, by, originOf(by))).kind).toBe("stale");
});
