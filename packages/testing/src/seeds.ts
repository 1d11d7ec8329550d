/** Tenants, keys and assets for tests, written like the operator. */

import { insertRootApiKey } from "@realtime-avatar/db/api-keys/api-keys";
import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import { insertAvatar } from "@realtime-avatar/db/avatars/avatars";
import { type Caller, findCredential } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { randomFor } from "@realtime-avatar/db/connection/which-database";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { insertTenant } from "@realtime-avatar/db/tenants/tenants";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import { issueApiKey } from "@realtime-avatar/domain/api-keys/create";
import { OPERATOR } from "@realtime-avatar/domain/api-keys/grant";
import type { CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import type { ApiKeySecret } from "@realtime-avatar/domain/api-keys/secret";
import { type AssetRecord, newAsset } from "@realtime-avatar/domain/assets/asset";
import type { AssetKind } from "@realtime-avatar/domain/assets/limits";
import type { AssetStatus } from "@realtime-avatar/domain/assets/status";
import { type AvatarRecord, newAvatar } from "@realtime-avatar/domain/avatars/avatar";
import type { CreateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import type { AvatarStatus } from "@realtime-avatar/domain/avatars/status";
import { initialGrants } from "@realtime-avatar/domain/credits/grants";
import type { Environment } from "@realtime-avatar/domain/environment";
import { type JobId, newId, newRequestId, type TenantId } from "@realtime-avatar/domain/id";
import type { JobRecord } from "@realtime-avatar/domain/job";
import { MAX_SHARDS, newTenantId } from "@realtime-avatar/domain/shards";
import type { TestDb } from "./database.ts";
import { random } from "./random-bytes.ts";

/** The origin of a write by `actor`, by default the operator, now. */
export const seedOrigin = (actor: Origin["actor"] = null): Origin => {
  const now = new Date();
  return { actor, requestId: newRequestId(now, random), now, random };
};
export const operatorOrigin = (): Origin => seedOrigin();

/** The same database for writes of the operator, by the client of the owner if the test has one. */
export const asOwner = (db: Db): Db => {
  if (!("client" in db)) return db;
  const { client } = db as TestDb;
  const run = async (text: string, parameters: readonly unknown[]) =>
    (await client.unsafe(text, parameters as never[], { prepare: false })) as never;
  return { ...db, run };
};

/** Creates a tenant. `credits`: its grants, in credit micros; by default those of a new tenant. */
export const seedTenant = async (db: Db, credits: Partial<Record<Environment, number>> = {}): Promise<TenantId> => {
  const { now, requestId } = operatorOrigin();
  const { shard } = db;
  const tenantId =
    shard === null ? newId("ten", now, random) : newTenantId(now, random, { count: MAX_SHARDS, splitAt: null }, shard);
  const grants = initialGrants(tenantId, { now, random, requestId, isFirstRun: false }).map((grant) => ({
    ...grant,
    amount: credits[grant.environment] ?? grant.amount,
  }));
  await insertTenant(asOwner(db), { tenantId, name: "Tenant of a test", createdAt: now }, grants);
  return tenantId;
};

/** Creates a root key, or a child of `parent`. Does not check the rights of `parent`. */
export const seedKey = async (
  db: Db,
  tenantId: TenantId,
  request: Partial<CreateApiKey> = {},
  parent?: ApiKeyRecord,
): Promise<{ record: ApiKeyRecord; secret: ApiKeySecret }> => {
  const origin = operatorOrigin();
  const creator = parent ? { ...OPERATOR, id: parent.id, lineage: parent.lineage } : OPERATOR;
  const issued = issueApiKey({ name: "Key of a test", ...request }, creator, {
    tenantId,
    checkedAt: new Date(0),
    now: origin.now,
    random: randomFor(db, random),
  });
  if (!(await insertRootApiKey(asOwner(db), issued.record, issued.secret, origin)))
    throw new Error("the key was not written");
  return issued;
};

/** The caller that authenticates with this credential. */
export const findTestCaller = async (db: Db, keyId: string): Promise<Caller> => {
  const found = await findCredential(db, keyId);
  if (!found) throw new Error("the credential was not found");
  return found.caller;
};

/** Creates a root key in live with `*`, by default of a new tenant, and returns it as a caller. */
export const seedCaller = async (db: Db, tenantId?: TenantId): Promise<Caller> => {
  const { secret } = await seedKey(db, tenantId ?? (await seedTenant(db)), { environment: "live", scopes: ["*"] });
  return findTestCaller(db, secret.keyId);
};

/** A new key that the caller creates, not written yet. */
export const issuedBy = (caller: Caller, request: Partial<CreateApiKey> = {}): ReturnType<typeof issueApiKey> =>
  issueApiKey({ name: "Key of a test", ...request }, caller, { ...caller, now: new Date(), random });

/** A new avatar of the caller's tenant and environment, not written yet. */
export const plannedAvatar = (caller: Caller, fields: Partial<CreateAvatar> = {}): AvatarRecord => {
  const now = new Date();
  const context = { id: newId("ava", now, random), defaultModelId: "m", now };
  return newAvatar({ displayName: "x", sourceKind: "image", ...fields }, { ...caller, ...context });
};

/** The job that prepares a new avatar, not written yet; null when the avatar has no source. */
export const preparationJob = ({ tenantId, environment, id, generation }: AvatarRecord): JobRecord | null => {
  const runAt = new Date();
  const job = { tenantId, environment, id: newJobId(), targetId: id, generation, runAt } as const;
  return generation === 0 ? null : { ...job, kind: "prepare_avatar" };
};

/**
 * The conditions of a change of an avatar: every version, and these statuses. The job that it may start has a new id.
 */
export const inStatus = (...statuses: AvatarStatus[]) => ({ versions: null, statuses, jobId: newJobId() });

export const newJobId = (): JobId => newId("job", new Date(), random);

/** Writes an avatar with its job, and returns it. */
export const seedAvatar = async (db: Db, caller: Caller, fields: Partial<CreateAvatar> = {}): Promise<AvatarRecord> => {
  const avatar = plannedAvatar(caller, fields);
  const { kind } = await insertAvatar(db, avatar, preparationJob(avatar), caller, seedOrigin(caller));
  if (kind !== "written") throw new Error(`the avatar was not written: ${kind}`);
  return avatar;
};

/** A new asset of the owner, not written yet: by default an image of 1000 bytes that is uploaded. */
export const plannedAsset = (
  { tenantId, environment }: Pick<AssetRecord, "tenantId" | "environment">,
  fields: Partial<AssetRecord> = {},
): AssetRecord => {
  const now = new Date();
  const id = newId("ast", now, random);
  const sizeBytes = fields.sizeBytes === undefined ? 1000 : fields.sizeBytes;
  const file = { kind: "image", status: "uploaded", contentType: "image/png", sizeBytes } as const;
  const asset = newAsset({ id, tenantId, environment, ...file, reservedBytes: sizeBytes ?? 0, now }, random);
  return { ...asset, ...fields };
};

/** A new job that processes `asset`, not written yet. */
export const assetJob = ({ tenantId, environment, id }: AssetRecord, fields: Partial<JobRecord> = {}): JobRecord => {
  const runAt = new Date();
  const job = { tenantId, environment, id: newId("job", runAt, random), targetId: id, runAt } as const;
  return { ...job, kind: "process_asset", generation: 1, ...fields };
};

/** Writes an asset with this status, by default ready, without a file. Returns it. */
export const seedAsset = async (
  db: Db,
  tenantId: TenantId,
  environment: Environment = "live",
  kind: AssetKind = "image",
  status: AssetStatus = "ready",
): Promise<AssetRecord> => {
  const sha256 = "0".repeat(64);
  const error = status === "failed" ? ({ code: "unsupported_type", detail: "An error of a test." } as const) : null;
  const asset = plannedAsset({ tenantId, environment }, { kind, status, sha256, error });
  await asOwner(db).run(
    `insert into assets (tenant_id, id, environment, kind, status, content_type, size_bytes, sha256, public_token,
       reserved_bytes, error_code, error_detail, metadata, version, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $7, $10, $11, '{}', 1, $12, $12)`,
    [
      ...[tenantId, asset.id, environment, kind, status, asset.contentType, asset.sizeBytes, sha256, asset.publicToken],
      ...[error?.code ?? null, error?.detail ?? null, asset.createdAt],
    ],
  );
  if (error !== null || status === "deleted") return asset;
  await asOwner(db).run(
    `insert into asset_meters as meter (tenant_id, environment, assets, bytes) values ($1, $2, 1, $3)
     on conflict (tenant_id, environment) do update set assets = meter.assets + 1, bytes = meter.bytes + excluded.bytes`,
    [tenantId, environment, asset.reservedBytes],
  );
  return asset;
};

/** A claim of `POST /api/v1/avatars`; `text` makes its response recognisable. */
export const newClaim = (idempotencyKey: string, text = ""): Claim => ({
  request: "POST /api/v1/avatars",
  idempotencyKey,
  bodyHash: new Uint8Array(32).fill(7),
  status: 201,
  location: `/api/v1/avatars/${text}`,
  etag: '"1"',
  responseBody: Buffer.from(`"\\{,}' ${text}`),
  sealedFor: null,
});
