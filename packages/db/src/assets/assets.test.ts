/** Assets: every change by a caller, the quota, idempotency, and the avatars that are built from them. */
import { describe, expect, test } from "bun:test";
import { type AssetRecord, newAsset } from "@realtime-avatar/domain/assets/asset";
import { ASSET_STATUSES, DELETABLE_ASSET_STATUSES } from "@realtime-avatar/domain/assets/status";
import { AVATAR_STATUSES } from "@realtime-avatar/domain/avatars/status";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { ROOMY, readAuditTrail } from "@realtime-avatar/testing/postgres/jobs";
import { random } from "@realtime-avatar/testing/random-bytes";
import {
  assetJob,
  findTestCaller,
  inStatus,
  newClaim,
  plannedAsset,
  plannedAvatar,
  preparationJob,
  seedAsset,
  seedAvatar,
  seedCaller,
  seedKey,
  seedOrigin,
  seedTenant,
} from "@realtime-avatar/testing/seeds";
import { findAvatar, insertAvatar, updateAvatar } from "../avatars/avatars.ts";
import type { Caller } from "../callers/callers.ts";
import type { Claim } from "../idempotency/idempotency-keys.ts";
import {
  completeAsset,
  deleteAsset,
  existingAssets,
  findAsset,
  findPublicAsset,
  hasAssetRoom,
  insertAsset,
} from "./assets.ts";

const { db } = await serviceDatabase();

const create = (
  caller: Caller,
  asset: AssetRecord,
  { quota = ROOMY, claim = null as Claim | null, hasJob = true } = {},
) => insertAsset(db, { asset, job: hasJob ? assetJob(asset) : null, quota }, caller, seedOrigin(caller), claim);
const upload = (caller: Caller): AssetRecord => ({
  ...plannedAsset(caller, { status: "pending_upload", contentType: null, sizeBytes: null }),
  reservedBytes: 500,
});
const remote = (caller: Caller): AssetRecord => ({ ...upload(caller), remoteUrl: "https://example.com/a.png" });
const ANY = { versions: null };
const remove = (caller: Caller, { id }: AssetRecord, provided: { versions: readonly string[] | null } = ANY) =>
  deleteAsset(db, id, provided, caller, seedOrigin(caller));
const complete = (caller: Caller, asset: AssetRecord, claim: Claim | null = null) => {
  const file = { contentType: "image/png", sizeBytes: 400, job: assetJob(asset) };
  return completeAsset(db, asset.id, file, caller, seedOrigin(caller), claim);
};

const meterOf = async ({ tenantId }: { tenantId: TenantId }, environment = "live") => {
  const [row] = await db.client<{ assets: number; bytes: number }[]>`
    select assets::integer, bytes::integer from asset_meters
    where tenant_id = ${tenantId} and environment = ${environment}`;
  return { ...row };
};
const jobsOf = async ({ id }: AssetRecord) =>
  (await db.client`select id, kind, generation from jobs where target_id = ${id}`).map((row) => ({ ...row }));
const claimsOf = async ({ tenantId }: Caller) =>
  (await db.client`select 1 from idempotency_claims where tenant_id = ${tenantId}`).length;

describe("the creation of an asset", () => {
  test("a creation, of an asset with a job: asset, job, event and counters", async () => {
    const caller = await seedCaller(db);
    const asset = { ...plannedAsset(caller), originalFilename: "a.png", metadata: { a: 1 } };
    const job = assetJob(asset);
    expect(await insertAsset(db, { asset, job, quota: ROOMY }, caller, seedOrigin(caller))).toEqual({
      kind: "written",
    });
    expect(await findAsset(db, caller, asset.id)).toEqual(asset);
    expect(await jobsOf(asset)).toEqual([{ id: job.id, kind: "process_asset", generation: 1 }]);
    expect(await readAuditTrail(db, asset)).toEqual([{ action: "asset.created", actor_id: caller.id }]);
    expect(await meterOf(caller)).toEqual({ assets: 1, bytes: 1000 });
  });

  test("a creation, of an awaited upload: no job; of an import: every field", async () => {
    const caller = await seedCaller(db);
    const now = new Date();
    const id = newId("ast", now, random);
    const fields = { id, kind: "video", status: "pending_upload", reservedBytes: 200 * 2 ** 20, now } as const;
    const asset = newAsset({ ...caller, ...fields, remoteUrl: "https://example.com/ü?a=%22" }, random);
    expect(await create(caller, asset, { hasJob: false })).toEqual({ kind: "written" });
    expect(await findAsset(db, caller, id)).toEqual(asset);
    expect(await jobsOf(asset)).toEqual([]);
  });

  test("a creation whose caller has changed: nothing written", async () => {
    const caller = await seedCaller(db);
    const asset = plannedAsset(caller);
    expect(await create({ ...caller, version: caller.version + 1 }, asset, { claim: newClaim("a") })).toEqual({
      kind: "stale",
    });
    expect([await findAsset(db, caller, asset.id), await meterOf(caller), await claimsOf(caller)]).toEqual([
      null,
      {},
      0,
    ]);
  });

  test("a creation, repeated with its Idempotency-Key: replayed", async () => {
    const caller = await seedCaller(db);
    const [first, second] = [plannedAsset(caller), plannedAsset(caller)];
    expect(await create(caller, first, { claim: newClaim("a", "first") })).toEqual({ kind: "written" });
    const outcome = await create(caller, second, { claim: newClaim("a", "second") });
    expect(outcome).toMatchObject({ kind: "replayed", response: { location: "/api/v1/avatars/first" } });
    expect([await findAsset(db, caller, second.id), await jobsOf(second)]).toEqual([null, []]);
    expect(await meterOf(caller)).toEqual({ assets: 1, bytes: 1000 });
  });

  test("assets, read in a batch: each found, except those of another tenant or environment", async () => {
    const [one, two] = [await seedCaller(db), await seedCaller(db)];
    const assets = await Promise.all([one, two, one].map(({ tenantId }) => seedAsset(db, tenantId)));
    const found = await Promise.all(
      assets.flatMap(({ id }) =>
        [one, two, { ...one, environment: "test" as const }].map((owner) => findAsset(db, owner, id)),
      ),
    );
    expect(found.map((asset) => asset?.id ?? null)).toEqual(
      assets.flatMap(({ id, tenantId }) => [
        one.tenantId === tenantId ? id : null,
        two.tenantId === tenantId ? id : null,
        null,
      ]),
    );
  });
});

describe("the quota", () => {
  test("the quota, exactly reached: allowed; exceeded: refused, and no claim is stored", async () => {
    const caller = await seedCaller(db);
    const quota = { maxAssets: 2, maxBytes: 3000 };
    const over = { kind: "over_quota" } as const;
    const sized = (sizeBytes: number) => plannedAsset(caller, { sizeBytes, reservedBytes: sizeBytes });
    expect(await hasAssetRoom(db, caller, quota, 3000)).toBe(true);
    expect(await hasAssetRoom(db, caller, quota, 3001)).toBe(false);
    expect(await create(caller, sized(3001), { quota })).toEqual(over);
    const first = sized(2000);
    expect(await create(caller, first, { quota })).toEqual({ kind: "written" });
    expect(await hasAssetRoom(db, caller, quota, 1000)).toBe(true);
    expect(await hasAssetRoom(db, caller, quota, 1001)).toBe(false);
    expect(await create(caller, sized(1001), { quota, claim: newClaim("a") })).toEqual(over);
    expect(await claimsOf(caller)).toBe(0);
    expect(await create(caller, sized(1000), { quota, claim: newClaim("a") })).toEqual({ kind: "written" });
    expect(await create(caller, sized(0), { quota })).toEqual(over);
    expect(await hasAssetRoom(db, caller, quota, 0)).toBe(false);
    expect(await meterOf(caller)).toEqual({ assets: 2, bytes: 3000 });
    // A replay needs no quota. A deletion frees quota.
    expect(await create(caller, sized(1000), { quota, claim: newClaim("a") })).toMatchObject({ kind: "replayed" });
    expect(await remove(caller, first)).toMatchObject({ kind: "written" });
    expect(await create(caller, sized(2000), { quota })).toEqual({ kind: "written" });
  });

  test("the quota, of two tenants and environments: counted separately", async () => {
    const caller = await seedCaller(db);
    const { secret } = await seedKey(db, caller.tenantId, { environment: "test", scopes: ["*"] });
    const quota = { maxAssets: 1, maxBytes: 1000 };
    for (const one of [caller, await findTestCaller(db, secret.keyId), await seedCaller(db)]) {
      expect(await create(one, plannedAsset(one), { quota })).toEqual({ kind: "written" });
      expect(await create(one, plannedAsset(one), { quota })).toEqual({ kind: "over_quota" });
    }
  });

  test("the quota, 20 creations at once: not exceeded", async () => {
    for (const [maxAssets, maxBytes] of [
      [7, 1e9],
      [100, 7999],
    ] as const) {
      const caller = await seedCaller(db);
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          create(caller, plannedAsset(caller), {
            quota: { maxAssets, maxBytes },
            claim: at % 2 ? newClaim(`${at}`) : null,
          }),
        ),
      );
      expect(outcomes.filter(({ kind }) => kind === "written")).toHaveLength(7);
      expect(outcomes.filter(({ kind }) => kind === "over_quota")).toHaveLength(13);
      expect(await meterOf(caller)).toEqual({ assets: 7, bytes: 7000 });
      const rows = await db.client`select 1 from assets where tenant_id = ${caller.tenantId}`;
      expect(rows).toHaveLength(7);
      const [{ written = 0 } = {}] = await db.client<{ written: number }[]>`
        select count(*)::integer as written from idempotency_claims stored
        where tenant_id = ${caller.tenantId} and not exists (
          select from audit_events event where event.tenant_id = stored.tenant_id and event.id = stored.attempt_id
        )`;
      expect(written).toBe(0);
    }
  });
});

describe("the completion of an upload", () => {
  test("a completion, of an awaited upload: one file, with its job", async () => {
    const caller = await seedCaller(db);
    const asset = upload(caller);
    await create(caller, asset, { hasJob: false });
    const outcome = await complete(caller, asset);
    const file = {
      status: "uploaded",
      contentType: "image/png",
      sizeBytes: 400,
      reservedBytes: 400,
      version: 2,
    } as const;
    expect(outcome).toMatchObject({ kind: "written", asset: { ...asset, ...file, updatedAt: expect.any(Date) } });
    expect(await findAsset(db, caller, asset.id)).toEqual((outcome as { asset: AssetRecord }).asset);
    expect(await jobsOf(asset)).toHaveLength(1);
    expect(await meterOf(caller)).toEqual({ assets: 1, bytes: 400 });
    expect(await complete(caller, asset)).toEqual({ ...outcome, kind: "unchanged" } as never);
    expect(await jobsOf(asset)).toHaveLength(1);
    expect((await readAuditTrail(db, asset)).map(({ action }) => action)).toEqual(["asset.created", "asset.uploaded"]);
  });

  test("a completion, repeated with its claim: replayed; a claim is stored only with a write", async () => {
    const caller = await seedCaller(db);
    const [asset, imported] = [upload(caller), remote(caller)];
    await create(caller, asset, { hasJob: false });
    await create(caller, imported);
    expect(await complete(caller, imported, newClaim("a"))).toMatchObject({ kind: "unchanged", asset: imported });
    expect(await complete(caller, plannedAsset(caller), newClaim("a"))).toEqual({ kind: "not_found" });
    expect(await complete({ ...caller, version: 9 }, asset, newClaim("a"))).toEqual({ kind: "stale" });
    expect(await claimsOf(caller)).toBe(0);
    expect(await complete(caller, asset, newClaim("a", "x"))).toMatchObject({ kind: "written" });
    expect(await complete(caller, asset, newClaim("a", "y"))).toEqual({
      kind: "replayed",
      response: expect.objectContaining({ status: 201, location: "/api/v1/avatars/x", etag: '"1"', sealedFor: null }),
    } as never);
    expect(await jobsOf(asset)).toHaveLength(1);
  });

  test("a completion and a deletion, by another tenant or environment: not found", async () => {
    const [caller, other] = [await seedCaller(db), await seedCaller(db)];
    const asset = upload(caller);
    await create(caller, asset, { hasJob: false });
    const { secret } = await seedKey(db, caller.tenantId, { environment: "test", scopes: ["*"] });
    for (const stranger of [other, await findTestCaller(db, secret.keyId)]) {
      expect(await complete(stranger, asset)).toEqual({ kind: "not_found" });
      expect(await remove(stranger, asset)).toEqual({ kind: "not_found" });
    }
    expect(await findAsset(db, caller, asset.id)).toEqual(asset);
  });

  test.each(ASSET_STATUSES.filter((status) => status !== "pending_upload"))(
    "a completion, of an asset that is %s: nothing changed",
    async (status) => {
      const caller = await seedCaller(db);
      const asset = await seedAsset(db, caller.tenantId, "live", "image", status);
      expect(await complete(caller, asset)).toEqual({ kind: "unchanged", asset });
      expect([await findAsset(db, caller, asset.id), await jobsOf(asset)]).toEqual([asset, []]);
    },
  );
});

describe("the deletion of an asset", () => {
  test.each(DELETABLE_ASSET_STATUSES)(
    "a deletion, of an asset that is %s: its job, counters and event follow",
    async (status) => {
      const caller = await seedCaller(db);
      const asset = await seedAsset(db, caller.tenantId, "live", "image", status);
      const other = await seedAsset(db, caller.tenantId);
      const job = assetJob(asset);
      await db.client`insert into jobs (tenant_id, id, environment, kind, target_id, generation, run_at, created_at)
      values (${job.tenantId}, ${job.id}, 'live', ${job.kind}, ${asset.id}, 1, now() - interval '1 second', now())`;
      const outcome = await remove(caller, asset);
      expect(outcome).toMatchObject({ kind: "written", asset: { status: "deleted", error: null, version: 2 } });
      expect(await remove(caller, asset)).toEqual({ ...outcome, kind: "unchanged" } as never);
      expect([await jobsOf(asset), await meterOf(caller)]).toEqual([[], { assets: 1, bytes: 1000 }]);
      expect(await readAuditTrail(db, asset)).toEqual([{ action: "asset.deleted", actor_id: caller.id }]);
      expect(await existingAssets(db, [asset, other])).toEqual([
        { tenantId: other.tenantId, id: other.id, status: "ready" },
      ]);
    },
  );

  test("a deletion, with expected versions: deletes only these versions", async () => {
    const caller = await seedCaller(db);
    const asset = await seedAsset(db, caller.tenantId);
    expect(await remove(caller, asset, { versions: ["2"] })).toEqual({ kind: "unchanged", asset });
    expect(await remove({ ...caller, version: 9 }, asset)).toEqual({ kind: "stale" });
    expect(await remove(caller, asset, { versions: ["3", "1"] })).toMatchObject({ kind: "written" });
    expect(await remove(caller, plannedAsset(caller))).toEqual({ kind: "not_found" });
  });

  test("a deletion of an asset to which an avatar refers: refused until the avatar is deleted", async () => {
    const caller = await seedCaller(db);
    const asset = await seedAsset(db, caller.tenantId);
    const avatar = await seedAvatar(db, caller, { sourceAssetId: asset.id });
    expect(await remove(caller, asset)).toEqual({ kind: "in_use" });
    // In every status except `deleted`, and also as the new source of an avatar that serves another one.
    for (const status of AVATAR_STATUSES.filter((one) => one !== "deleted")) {
      await db.client`
        update avatars set status = ${status}, source_asset_id = ${asset.id}, pending_source_asset_id = null where id = ${avatar.id}`;
      expect(await remove(caller, asset)).toEqual({ kind: "in_use" });
    }
    for (const status of ["disabled", "ready"]) {
      await db.client`
        update avatars set status = ${status}, source_asset_id = null, pending_source_asset_id = ${asset.id} where id = ${avatar.id}`;
      expect(await remove(caller, asset)).toEqual({ kind: "in_use" });
    }
    await updateAvatar(db, avatar.id, { status: "deleted" }, inStatus("ready"), caller, seedOrigin(caller));
    expect(await remove(caller, asset)).toMatchObject({ kind: "written" });
  });
});

test("a public file, looked up by its token: found while the asset is ready", async () => {
  const caller = await seedCaller(db);
  const [asset, video] = [await seedAsset(db, caller.tenantId), await seedAsset(db, caller.tenantId, "live", "video")];
  await db.client`update assets set public_type = 'image/webp' where id = ${asset.id}`;
  const tokens = [asset.publicToken, video.publicToken, "x", "'", asset.publicToken];
  const found = await Promise.all(tokens.map((token) => findPublicAsset(db, token)));
  const expected = { tenantId: asset.tenantId, id: asset.id, publicType: "image/webp", isGenerated: false, version: 1 };
  expect(found).toEqual([expected, null, null, null, expected]);
  await remove(caller, asset);
  expect(await findPublicAsset(db, asset.publicToken)).toBeNull();
});

describe("an avatar and its source", () => {
  const outcomeOf = async (caller: Caller, sourceAssetId: string, claim: Claim | null = null) => {
    const avatar = plannedAvatar(caller, { sourceAssetId });
    return (await insertAvatar(db, avatar, preparationJob(avatar), caller, seedOrigin(caller), claim)).kind;
  };

  /** Every unusable asset, and the usable ones, with the outcome. */
  const cases = async (caller: Caller): Promise<[id: string, outcome: string][]> => {
    const { tenantId } = caller;
    const other = await seedTenant(db);
    const ids: [string, string][] = [
      ["asset", "asset_not_found"],
      [newId("ast", new Date(), random), "asset_not_found"],
      [(await seedAsset(db, other)).id, "asset_not_found"],
      [(await seedAsset(db, tenantId, "test")).id, "asset_not_found"],
      [(await seedAsset(db, tenantId, "live", "video")).id, "asset_kind_mismatch"],
      [(await seedAsset(db, tenantId, "live", "audio", "failed")).id, "asset_kind_mismatch"],
    ];
    for (const status of ASSET_STATUSES) {
      const outcome = status === "failed" || status === "deleted" ? "asset_not_usable" : "written";
      ids.push([(await seedAsset(db, tenantId, "live", "image", status)).id, outcome]);
    }
    return ids;
  };

  test("an avatar, created from each kind of source, alone and in a batch: written only for a usable source", async () => {
    const caller = await seedCaller(db);
    const all = await cases(caller);
    for (const [id, outcome] of all) expect([id, await outcomeOf(caller, id)]).toEqual([id, outcome]);
    const outcomes = await Promise.all(all.map(([id], at) => outcomeOf(caller, id, at % 2 ? newClaim(id) : null)));
    expect(outcomes).toEqual(all.map(([, outcome]) => outcome) as never);
    // A refused create leaves neither an event nor a claim.
    const refused = all.filter(([, outcome]) => outcome !== "written").map(([id]) => id);
    expect(await db.client`select from avatars where source_asset_id = any(${refused})`).toHaveLength(0);
    expect(await db.client`select from idempotency_claims where idempotency_key = any(${refused})`).toHaveLength(0);
    const [{ events = 0, avatars = 0 } = {}] = await db.client<{ events: number; avatars: number }[]>`
      select (select count(*)::integer from audit_events where tenant_id = ${caller.tenantId} and action = 'avatar.created') as events,
        (select count(*)::integer from avatars where tenant_id = ${caller.tenantId}) as avatars`;
    expect([events, avatars]).toEqual([8, 8]);
    const jobs = await db.client`
      select from jobs join avatars on avatars.tenant_id = jobs.tenant_id and avatars.id = target_id
      where jobs.tenant_id = ${caller.tenantId} and jobs.kind = 'prepare_avatar' and jobs.generation = avatars.generation`;
    expect(jobs).toHaveLength(8);
  });

  test("an avatar, refused and repeated with its Idempotency-Key: created, then replayed", async () => {
    const caller = await seedCaller(db);
    const [wrong, right] = [newId("ast", new Date(), random), (await seedAsset(db, caller.tenantId)).id];
    expect(await outcomeOf(caller, wrong, newClaim("a"))).toBe("asset_not_found");
    expect(await outcomeOf(caller, right, newClaim("a"))).toBe("written");
    // The replay does not depend on the asset's present state.
    await db.client`update assets set status = 'deleted' where id = ${right}`;
    expect(await outcomeOf(caller, right, newClaim("a"))).toBe("replayed");
    expect(await outcomeOf(caller, wrong, newClaim("a"))).toBe("replayed");
  });

  test("an avatar, with another source: accepted only if usable; null clears the source", async () => {
    const caller = await seedCaller(db);
    for (const [sourceAssetId, outcome] of await cases(caller)) {
      const avatar = await seedAvatar(db, caller);
      const change = (changes: object) =>
        updateAvatar(db, avatar.id, changes, inStatus("draft"), caller, seedOrigin(caller));
      expect([sourceAssetId, (await change({ sourceAssetId, displayName: "y" })).kind]).toEqual([
        sourceAssetId,
        outcome,
      ]);
      const changed =
        outcome === "written" ? { sourceAssetId, displayName: "y" } : { sourceAssetId: null, displayName: "x" };
      expect(await findAvatar(db, caller, avatar.id)).toMatchObject(changed);
      // An avatar without a source is unchanged until its source is set.
      await db.client`update avatars set status = 'draft', source_asset_id = ${sourceAssetId} where id = ${avatar.id}`;
      expect(await change({ displayName: "z" })).toMatchObject({ kind: "written", avatar: { sourceAssetId } });
      expect(await change({ sourceAssetId: null })).toMatchObject({ kind: "written", avatar: { sourceAssetId: null } });
    }
  });

  test("a change of a missing avatar, or of one in another status: refused before the source is checked", async () => {
    const caller = await seedCaller(db);
    const avatar = await seedAvatar(db, caller);
    const change = (id: typeof avatar.id, versions: string[] | null) =>
      updateAvatar(db, id, { sourceAssetId: "x" }, { ...inStatus("draft"), versions }, caller, seedOrigin(caller));
    expect(await change(newId("ava", new Date(), random), null)).toEqual({ kind: "not_found" });
    expect(await change(avatar.id, ["9"])).toEqual({ kind: "unchanged", avatar });
    expect(await change(avatar.id, null)).toEqual({ kind: "asset_not_found" });
  });
});
