/** How the server executes the statements and functions of assets and jobs: by indexes, with plans for any values. */
import { expect, test } from "bun:test";
import type { AssetRecord } from "@realtime-avatar/domain/assets/asset";
import { holdPreparation, readyResult, seedAvatarIn } from "@realtime-avatar/testing/avatars/preparations";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { inOneBatch } from "@realtime-avatar/testing/postgres/batching";
import { claimedJob, READY_ASSET } from "@realtime-avatar/testing/postgres/jobs";
import {
  expectIndexed,
  explainedSession,
  insertEndpointRows,
  insertKeyRows,
  rowId,
} from "@realtime-avatar/testing/postgres/plans";
import {
  assetJob,
  inStatus,
  newClaim,
  newJobId,
  operatorOrigin,
  plannedAsset,
  plannedAvatar,
  preparationJob,
  seedAsset,
  seedCaller,
  seedOrigin,
} from "@realtime-avatar/testing/seeds";
import { insertAvatar, prepareAvatar, updateAvatar } from "../avatars/avatars.ts";
import { findPreview, finishPreparation, knownPreparations, startPreparation } from "../avatars/preparations.ts";
import { jobStats, renewJob, retryJob } from "../jobs/jobs.ts";
import {
  completeAsset,
  deleteAsset,
  existingAssets,
  findAsset,
  findPublicAsset,
  hasAssetRoom,
  insertAsset,
} from "./assets.ts";
import { listAssets } from "./list.ts";
import { failAbandonedUploads, finishAsset, startAsset } from "./processing.ts";

const ROWS = 3000;

const database = await fileDatabase();
const caller = await seedCaller(database.db);
const { tenantId } = caller;
const { db, plans, explain } = await explainedSession(database.url);
const asset = (status: string) => `
  insert into assets (tenant_id, id, environment, kind, status, content_type, size_bytes, sha256, public_type, public_token,
    reserved_bytes, metadata, version, created_at, updated_at)
  select '${tenantId}', ${rowId(`ast`)}, 'live', 'image', '${status}', 'image/png', 1, repeat('0', 64), 'image/webp',
    lpad(i::text, 43, '0'), 1, '{}', 1, now() - interval '2 days' * (i % 2), now()`;
await database.db.client.unsafe(`
  ${insertKeyRows(tenantId, ROWS)}
  ${asset("ready")} from generate_series(1, ${ROWS}) i;
  ${asset("pending_upload")} from generate_series(${ROWS + 1}, ${2 * ROWS}) i;
  insert into asset_meters select ${rowId("ten")}, 'live', 1, 1 from generate_series(1, ${ROWS}) i;
  insert into asset_meters values ('${tenantId}', 'live', 100000, 100000);
  insert into jobs (tenant_id, id, environment, kind, target_id, generation, run_at, created_at)
    select ${rowId("ten")}, ${rowId("job")}, 'live', 'process_asset', ${rowId("ast")}, 1, now(), now()
    from generate_series(1, ${ROWS}) i;
  insert into jobs (tenant_id, id, environment, kind, target_id, generation, run_at, created_at)
    select '${tenantId}', ${rowId("job")}, 'live', 'process_asset', ${rowId("ast")}, 1, now() - interval '1 hour', now()
    from generate_series(1, ${ROWS}) i;
  insert into job_slots select ${rowId("ten")}, slot, null, null, null, now() - interval '1 hour'
    from generate_series(1, ${ROWS}) i, generate_series(1, 2) slot;
  insert into avatars (tenant_id, id, environment, display_name, source_kind, model_id, status, source_asset_id,
    pending_source_asset_id, preview_token, preview_file, cache_version, settings, metadata, version, created_at, updated_at)
    select '${tenantId}', ${rowId("ava")}, 'live', 'n', 'image', 'm', 'draft', ${rowId("ast")}, ${rowId("ast")}, lpad(i::text, 43, '0'),
    '1/0af-webp', 0, '{}', '{}', 1, now(), now()
    from generate_series(1, ${ROWS}) i;
  insert into idempotency_claims (tenant_id, caller_id, request, idempotency_key, attempt_id, body_hash, status, etag, response_body, created_at)
    select '${tenantId}', '${caller.id}', 'POST /api/v1/avatars', i::text, ${rowId("aud")}, sha256('x'), 201, '1', 'x', now()
    from generate_series(1, ${ROWS}) i;
  ${insertEndpointRows(ROWS)}
  analyze`);
await explain();

/** The plans of the statements of `work`, whose writes are committed. */
const plansOf = async (work: () => Promise<unknown>): Promise<string[]> => {
  plans.length = 0;
  await work();
  return plans;
};
const QUOTA = { maxAssets: 1e9, maxBytes: 1e12 };
const insert = async (asset: AssetRecord = plannedAsset(caller), isClaimed = false) => {
  const claim = isClaimed ? newClaim(asset.id) : null;
  await insertAsset(db, { asset, job: assetJob(asset), quota: QUOTA }, caller, seedOrigin(caller), claim);
  return asset;
};
const seeded = () => seedAsset(database.db, caller.tenantId);
const claim = () => claimedJob(db, { kinds: ["process_asset"] });
const createAvatars = async (count: number, isClaimed: boolean) => {
  const sources = await Promise.all(Array.from({ length: count }, seeded));
  const to = count === 1 ? db : inOneBatch(db);
  const outcomes = await Promise.all(
    sources.map((source) => {
      const avatar = plannedAvatar(caller, { sourceAssetId: source.id });
      return insertAvatar(
        to,
        avatar,
        preparationJob(avatar),
        caller,
        seedOrigin(caller),
        isClaimed ? newClaim(avatar.id) : null,
      );
    }),
  );
  expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(["written"]));
};
const changeAvatar = async () => {
  const changes = { sourceAssetId: (await seeded()).id };
  await updateAvatar(
    db,
    `ava_01h455vb4p${"1".padStart(16, "0")}`,
    changes,
    inStatus("draft"),
    caller,
    seedOrigin(caller),
  );
};

/** A ready avatar whose preparation a worker holds. */
const prepared = async () => {
  const avatar = await seedAvatarIn(db, caller, "ready", { sourceAssetId: (await seeded()).id });
  await updateAvatar(db, avatar.id, { modelId: "y" }, inStatus("ready"), caller, seedOrigin(caller));
  return { avatar, job: await holdPreparation(db, avatar, "x") };
};

const cases: [string, () => Promise<unknown>, string[]][] = [
  ["creating an asset", () => insert(), ["asset_meters_tenant_id_environment_pk"]],
  ["creating an asset with a claim", () => insert(plannedAsset(caller), true), []],
  [
    "completing an upload",
    async () => {
      const asset = await seedAsset(database.db, caller.tenantId, "live", "image", "pending_upload");
      const file = { contentType: "image/png", sizeBytes: 1, job: assetJob(asset) };
      expect(await completeAsset(db, asset.id, file, caller, seedOrigin(caller), newClaim(asset.id))).toMatchObject({
        kind: "written",
      });
    },
    ["assets_tenant_id_id_pk"],
  ],
  [
    "deleting an asset",
    async () => deleteAsset(db, (await insert()).id, { versions: null }, caller, seedOrigin(caller)),
    [
      "assets_tenant_id_id_pk",
      "avatars_source_asset_index",
      "avatars_pending_source_asset_index",
      "jobs_of_target_index",
    ],
  ],
  ["reading an asset", async () => findAsset(db, caller, (await seeded()).id), ["assets_tenant_id_id_pk"]],
  ["reading a public file", async () => findPublicAsset(db, "0".repeat(43)), ["assets_public_token_index"]],
  ["checking the quota", () => hasAssetRoom(db, caller, QUOTA, 1), ["asset_meters_tenant_id_environment_pk"]],
  [
    "finding the needed files",
    async () => existingAssets(db, [await seeded(), await seeded()]),
    ["assets_tenant_id_id_pk"],
  ],
  ...([{}, { status: "ready" }, { kind: "video" }, { status: "failed", kind: "image" }] as const).map(
    (filters): [string, () => Promise<unknown>, string[]] => [
      `listing assets by ${Object.keys(filters)}`,
      () => listAssets(db, caller, { filters, before: null, limit: 50 }, "https://example.com"),
      [Object.keys(filters).length === 0 ? "assets_newest_index" : "assets_list_index"],
    ],
  ),
  ["creating an avatar with a source", () => createAvatars(1, false), ["assets_tenant_id_id_pk"]],
  ["creating a batch of avatars with sources", () => createAvatars(8, true), ["assets_tenant_id_id_pk"]],
  ["giving an avatar a source", changeAvatar, ["assets_tenant_id_id_pk", "avatars_tenant_id_id_pk"]],
  ["claiming a job", claim, ["jobs_available_index", "jobs_tenant_due_index", "job_slots_tenant_id_slot_pk"]],
  ["renewing a job", async () => expect(await renewJob(db, await claim(), 60)).toBe(true), ["jobs_tenant_id_id_pk"]],
  ["beginning a job", async () => startAsset(db, await claim()), ["jobs_tenant_id_id_pk", "assets_tenant_id_id_pk"]],
  [
    "finishing a job",
    async () => {
      const asset = await insert();
      await database.db.client`update jobs set run_at = '2000-01-01' where target_id = ${asset.id}`;
      await database.db.client`delete from job_slots where started_at > now() - interval '10 minutes'`;
      const job = { ...assetJob(asset), attempts: 1, runsAlone: false, lease: "x" };
      await database.db.client`
        update jobs set lease = 'x', leased_until = now() + interval '1 minute', id = ${job.id} where target_id = ${asset.id}`;
      expect(await finishAsset(db, job, READY_ASSET, operatorOrigin())).toBe("finished");
    },
    ["jobs_tenant_id_id_pk", "assets_tenant_id_id_pk", "asset_meters_tenant_id_environment_pk"],
  ],
  [
    "retrying a job",
    async () => retryJob(db, await claim(), { error: "x", delaySeconds: 0, maxAttempts: 5 }, operatorOrigin()),
    ["jobs_tenant_id_id_pk"],
  ],
  [
    "preparing an avatar again",
    async () => {
      const { avatar } = await prepared();
      const { kind } = await prepareAvatar(
        db,
        avatar.id,
        3,
        newJobId(),
        caller,
        seedOrigin(caller),
        newClaim(avatar.id),
      );
      expect(kind).toBe("written");
    },
    ["avatars_tenant_id_id_pk", "jobs_of_target_index"],
  ],
  [
    "beginning a preparation",
    async () => expect((await startPreparation(db, (await prepared()).job)).kind).toBe("started"),
    ["jobs_tenant_id_id_pk", "avatars_tenant_id_id_pk", "assets_tenant_id_id_pk"],
  ],
  [
    "finishing a preparation",
    async () => {
      const { job } = await prepared();
      expect(await finishPreparation(db, job, readyResult(2), operatorOrigin())).toBe("finished");
    },
    ["jobs_tenant_id_id_pk", "avatars_tenant_id_id_pk"],
  ],
  [
    "retrying a preparation for the last time",
    async () => {
      const failure = { error: "x", delaySeconds: 0, maxAttempts: 1 };
      expect(await retryJob(db, (await prepared()).job, failure, operatorOrigin())).toBe("exhausted");
    },
    ["jobs_tenant_id_id_pk", "avatars_tenant_id_id_pk"],
  ],
  ["reading a preview", async () => findPreview(db, "0".repeat(43)), ["avatars_preview_token_index"]],
  [
    "finding which prepared files are needed",
    async () => knownPreparations(db, [(await prepared()).avatar, (await prepared()).avatar]),
    ["avatars_tenant_id_id_pk", "jobs_of_target_index"],
  ],
  ["counting jobs", () => jobStats(db), ["jobs_available_index"]],
  [
    "failing abandoned uploads",
    async () => expect(await failAbandonedUploads(db, 10, operatorOrigin())).toBe(10),
    ["assets_pending_upload_index"],
  ],
];

test.each(cases)("the statement for %s, explained: reads no whole table", async (_, work, indexes) => {
  const plan = expectIndexed(await plansOf(work));
  for (const index of indexes) expect([index, plan.includes(index)]).toEqual([index, true]);
});

test("a job of a tenant with thousands of jobs, while most tenants have one: found by its id", async () => {
  // When most tenants have one job, the server estimates the same cost for each index that begins with the tenant as
  // for the primary key.
  await database.db.client.unsafe(`
    insert into tenants (tenant_id, name, created_at) select ${rowId("ten")}, 'n', now()
      from generate_series(${ROWS + 1}, ${4 * ROWS}) i;
    insert into jobs (tenant_id, id, environment, kind, target_id, generation, run_at, created_at)
      select ${rowId("ten")}, ${rowId("job")}, 'live', 'process_asset', ${rowId("ast")}, 1, now() + interval '1 hour', now()
      from generate_series(${ROWS + 1}, ${4 * ROWS}) i;
    analyze tenants, jobs`);
  const failure = { error: "x", delaySeconds: 0, maxAttempts: 5 };
  const found = await plansOf(async () => {
    const job = await claim();
    expect(await renewJob(db, job, 60)).toBe(true);
    await startAsset(db, job);
    await retryJob(db, job, failure, operatorOrigin());
  });
  expect(expectIndexed(found)).toContain("jobs_tenant_id_id_pk");
});

test("a page of assets, explained: read in the order of its index, without a sort", async () => {
  for (const filters of [{}, { status: "ready" }] as const) {
    const [plan = ""] = await plansOf(() =>
      listAssets(db, caller, { filters, before: null, limit: 50 }, "https://example.com"),
    );
    expect(plan).toContain("Limit");
    if (!("status" in filters)) expect(plan).not.toContain("Sort");
  }
});
