/**
 * Writes of assets, avatars and jobs that wait for another write, with their decision after the wait; and writes that
 * do not wait.
 */
import { describe, expect, test } from "bun:test";
import type { AssetRecord } from "@realtime-avatar/domain/assets/asset";
import type { TestDb } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { inOneBatch } from "@realtime-avatar/testing/postgres/batching";
import { jobClaim, READY_ASSET } from "@realtime-avatar/testing/postgres/jobs";
import { whileExpiring, whileHeld } from "@realtime-avatar/testing/postgres/waits";
import {
  assetJob,
  inStatus,
  newClaim,
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
import { type ClaimedJob, claimJob } from "../jobs/jobs.ts";
import { completeAsset, deleteAsset, findAsset, insertAsset } from "./assets.ts";
import { finishAsset, startAsset } from "./processing.ts";

const database = await fileDatabase();
const { db } = database;

type Client = TestDb["client"];
const whileWaiting = <Result>(
  before: (client: Client) => Promise<unknown>,
  work: () => Promise<Result>,
  during?: () => Promise<unknown>,
): Promise<Result> => whileHeld(database, ({ client }) => before(client), work, during);
/** Runs `work`, which must not wait, while another transaction has run `before`. */
const besides = <Result>(before: (client: Client) => Promise<unknown>, work: () => Promise<Result>) =>
  whileHeld(database, ({ client }) => before(client), work, undefined, null);
const whileCallerExpires = <Result>(
  { tenantId }: Caller,
  before: (client: Client) => Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> =>
  whileExpiring(
    database,
    (at) => db.client.unsafe(`update api_keys set expires_at = ${at} where tenant_id = '${tenantId}'`),
    ({ client }) => before(client),
    work,
  );

const QUOTA = { maxAssets: 10, maxBytes: 1e9 };
const create = (caller: Caller, sourceAssetId: string, to = db) => {
  const avatar = plannedAvatar(caller, { sourceAssetId });
  return insertAvatar(to, avatar, preparationJob(avatar), caller, seedOrigin(caller), newClaim(sourceAssetId));
};
const remove = (caller: Caller, { id }: AssetRecord) =>
  deleteAsset(db, id, { versions: null }, caller, seedOrigin(caller));
const seed = async () => {
  const caller = await seedCaller(db);
  return { caller, asset: await seedAsset(db, caller.tenantId) };
};
const seedJob = async () => {
  const caller = await seedCaller(db);
  await db.client`delete from jobs`;
  const asset = plannedAsset(caller);
  await insertAsset(db, { asset, job: assetJob(asset), quota: QUOTA }, caller, seedOrigin(caller));
  return { caller, asset };
};
const claim = () => claimJob(db, jobClaim({ slots: 1 }));

const lockForDelete = (client: Client, { id }: AssetRecord) => client`select from assets where id = ${id} for update`;
const markDeleted = async (client: Client, asset: AssetRecord) => {
  await lockForDelete(client, asset);
  await client`update assets set status = 'deleted' where id = ${asset.id}`;
};
/** Whether a row could be locked now. */
const isFree = async (table: "assets" | "jobs" | "asset_meters", column: "id" | "tenant_id", value: string) =>
  (await db.client.unsafe(`select from ${table} where ${column} = '${value}' for update skip locked`)).length === 1;

describe("an avatar that waits for its source", () => {
  test("an avatar whose source is deleted during the wait: refused, and no claim is stored", async () => {
    const { caller, asset } = await seed();
    const outcome = await whileWaiting(
      (client) => markDeleted(client, asset),
      () => create(caller, asset.id),
    );
    expect(outcome).toEqual({ kind: "asset_not_usable" });
    expect(await db.client`select from idempotency_claims where tenant_id = ${caller.tenantId}`).toHaveLength(0);
    const other = await seedAsset(db, caller.tenantId);
    const { id } = await seedAvatar(db, caller);
    const change = { sourceAssetId: other.id };
    const changed = await whileWaiting(
      (client) => markDeleted(client, other),
      () => updateAvatar(db, id, change, inStatus("draft"), caller, seedOrigin(caller)),
    );
    expect(changed).toEqual({ kind: "asset_not_usable" });
  });

  test("an avatar whose source's deletion is rolled back: written", async () => {
    const { caller, asset } = await seed();
    const outcome = await whileWaiting(
      (client) => lockForDelete(client, asset),
      () => create(caller, asset.id),
    );
    expect(outcome).toEqual({ kind: "written" });
  });

  test("an avatar whose caller expires during the wait: stale", async () => {
    const { caller, asset } = await seed();
    const { id } = await seedAvatar(db, caller);
    const lock = (client: Client) => lockForDelete(client, asset);
    const work = () =>
      Promise.all([
        create(caller, asset.id),
        updateAvatar(db, id, { sourceAssetId: asset.id }, inStatus("draft"), caller, seedOrigin(caller)),
      ]);
    expect(await whileCallerExpires(caller, lock, work)).toEqual([{ kind: "stale" }, { kind: "stale" }]);
    expect(await db.client`select from idempotency_claims where tenant_id = ${caller.tenantId}`).toHaveLength(0);
  });

  test("a batch of avatars: locks the sources in their order", async () => {
    const { caller, asset: first } = await seed();
    const second = await seedAsset(db, caller.tenantId);
    const together = inOneBatch(db);
    const outcomes = await whileWaiting(
      (client) => lockForDelete(client, first),
      () => Promise.all([second, first].map(({ id }) => create(caller, id, together))),
      async () => {
        // The second source is not locked during the wait for the first.
        expect(await isFree("assets", "id", second.id)).toBe(true);
      },
    );
    expect(outcomes).toEqual([{ kind: "written" }, { kind: "written" }]);
  });

  test("a change of an avatar whose source is locked: waits without a lock on the avatar", async () => {
    const { caller, asset } = await seed();
    const { id } = await seedAvatar(db, caller);
    await whileWaiting(
      (client) => lockForDelete(client, asset),
      () => updateAvatar(db, id, { sourceAssetId: asset.id }, inStatus("draft"), caller, seedOrigin(caller)),
      async () => {
        expect(await db.client`select from avatars where id = ${id} for update skip locked`).toHaveLength(1);
      },
    );
  });

  test("an avatar, while a worker processes its source: neither waits for the other", async () => {
    const { caller, asset } = await seedJob();
    const job = (await claim()) as ClaimedJob;
    const worked = await besides(
      (client) => client`select from assets where id = ${asset.id} for key share`,
      async () => [(await startAsset(db, job))?.status, await finishAsset(db, job, READY_ASSET, operatorOrigin())],
    );
    expect(worked).toEqual(["processing", "finished"]);
    const created = await besides(
      (client) => client`update assets set version = version + 1 where id = ${asset.id}`,
      () => create(caller, asset.id),
    );
    expect(created).toEqual({ kind: "written" });
  });
});

describe("a deletion that waits", () => {
  test("a deletion, an avatar begins to refer to the asset during the wait: refused", async () => {
    const { caller, asset } = await seed();
    const { id } = await seedAvatar(db, caller);
    const outcome = await whileWaiting(
      async (client) => {
        await client`select from assets where id = ${asset.id} for key share`;
        await client`update avatars set source_asset_id = ${asset.id} where id = ${id}`;
      },
      () => remove(caller, asset),
    );
    expect(outcome).toEqual({ kind: "in_use" });
  });

  test("a deletion, another deletion during the wait: finds the asset deleted", async () => {
    const { caller, asset } = await seed();
    const outcome = await whileWaiting(
      (client) => markDeleted(client, asset),
      () => remove(caller, asset),
    );
    expect(outcome).toMatchObject({ kind: "unchanged", asset: { status: "deleted" } });
  });

  test("a deletion and a completion, the caller expires during the wait: stale", async () => {
    const caller = await seedCaller(db);
    const asset = await seedAsset(db, caller.tenantId, "live", "image", "pending_upload");
    const file = { contentType: "image/png", sizeBytes: 1, job: assetJob(asset) };
    const outcomes = await whileCallerExpires(
      caller,
      (client) => lockForDelete(client, asset),
      () =>
        Promise.all([
          remove(caller, asset),
          completeAsset(db, asset.id, file, caller, seedOrigin(caller), newClaim("a")),
        ]),
    );
    expect(outcomes).toEqual([{ kind: "stale" }, { kind: "stale" }]);
    expect(await findAsset(db, caller, asset.id)).toEqual(asset);
  });

  test("a deletion and the end of a job, at once: lock the asset before the job", async () => {
    const { caller, asset } = await seedJob();
    const job = (await claim()) as ClaimedJob;
    const free: boolean[] = [];
    const outcomes = await whileWaiting(
      (client) => lockForDelete(client, asset),
      () => Promise.all([finishAsset(db, job, READY_ASSET, operatorOrigin()), remove(caller, asset)]),
      async () => {
        free.push(await isFree("jobs", "id", job.id));
        free.push(await isFree("asset_meters", "tenant_id", caller.tenantId));
      },
    );
    expect(free).toEqual([true, true]);
    expect(["finished", "lost"]).toContain(outcomes[0]);
    expect(outcomes[1].kind).toBe("written");
    expect(await findAsset(db, caller, asset.id)).toMatchObject({ status: "deleted" });
  });
});

describe("the creation of an asset that waits", () => {
  test("a creation, the quota is reached during the wait: over quota, and no claim is stored", async () => {
    const { caller } = await seed();
    const asset = plannedAsset(caller);
    const outcome = await whileWaiting(
      (client) => client`update asset_meters set assets = 10 where tenant_id = ${caller.tenantId}`,
      () => insertAsset(db, { asset, job: null, quota: QUOTA }, caller, seedOrigin(caller), newClaim("a")),
    );
    expect(outcome).toEqual({ kind: "over_quota" });
    expect(await db.client`select from idempotency_claims where tenant_id = ${caller.tenantId}`).toHaveLength(0);
  });

  test("a creation, the tenant's first meter is written during the wait: counted in addition", async () => {
    const caller = await seedCaller(db);
    const asset = plannedAsset(caller);
    const outcome = await whileWaiting(
      (client) => client`insert into asset_meters values (${caller.tenantId}, 'live', 10, 0)`,
      () => insertAsset(db, { asset, job: null, quota: QUOTA }, caller, seedOrigin(caller)),
    );
    expect(outcome).toEqual({ kind: "over_quota" });
  });

  test("a creation whose caller expires during the wait: stale", async () => {
    const { caller } = await seed();
    const asset = plannedAsset(caller);
    const outcome = await whileCallerExpires(
      caller,
      (client) => client`update asset_meters set bytes = bytes where tenant_id = ${caller.tenantId}`,
      () => insertAsset(db, { asset, job: null, quota: QUOTA }, caller, seedOrigin(caller), newClaim("a")),
    );
    expect(outcome).toEqual({ kind: "stale" });
    const [meter] = await db.client`select assets::integer from asset_meters where tenant_id = ${caller.tenantId}`;
    expect(meter?.["assets"]).toBe(1);
    expect(await db.client`select from idempotency_claims where tenant_id = ${caller.tenantId}`).toHaveLength(0);
  });
});

describe("the claim of a job", () => {
  test("a claim, with locked jobs or slots: skips them", async () => {
    const { caller } = await seedJob();
    const { tenantId } = caller;
    const none = await besides(
      (client) => client`select from jobs where tenant_id = ${tenantId} for update`,
      () => claim(),
    );
    expect(none).toBeNull();
    const job = (await claim()) as ClaimedJob;
    await finishAsset(db, job, READY_ASSET, operatorOrigin());
    const asset = plannedAsset(caller);
    await insertAsset(db, { asset, job: assetJob(asset), quota: QUOTA }, caller, seedOrigin(caller));
    const still = await besides(
      (client) => client`select from job_slots where tenant_id = ${tenantId} for update`,
      () => claim(),
    );
    expect(still).toBeNull();
    expect(await claim()).not.toBeNull();
  });

  test("a claim, the tenant's first slots are written during the wait: takes another slot", async () => {
    const { caller } = await seedJob();
    const job = await whileWaiting(
      async (client) => {
        await client`insert into job_slots (tenant_id, slot, lease, leased_until)
          values (${caller.tenantId}, 1, 'other', now() + interval '1 minute')`;
      },
      () => claimJob(db, jobClaim({ lease: "g" })),
    );
    expect(job).not.toBeNull();
    expect((await db.client`select slot from job_slots where lease = 'g'`)[0]?.["slot"]).toBe(2);
  });
});
