/** Assets in the database, and the quota of each tenant. The worker's writes are in `jobs.ts`. */
import type { AssetRecord } from "@realtime-avatar/domain/assets/asset";
import type { AssetId, TenantId } from "@realtime-avatar/domain/id";
import type { JobRecord } from "@realtime-avatar/domain/job";
import { sql } from "drizzle-orm";
import {
  completeAsset as callComplete,
  createAsset as callCreate,
  deleteAsset as callDelete,
} from "../../generated/functions.ts";
import { auditEvent, type Origin } from "../audit/audit-events.ts";
import type { AnyCaller } from "../callers/callers.ts";
import type { Runner } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import {
  type Claim,
  requireKind,
  type StoredResponse,
  type WriteOutcome,
  type WriteOutcomeRow,
  writeOutcome,
} from "../idempotency/idempotency-keys.ts";
import { batchedRead } from "../query/batched-read.ts";
import { batchStatement, inputColumn, selectColumns, statement } from "../query/statement.ts";
import { assetMeters, assets } from "../schema/assets.ts";
import { type AssetRow, assetRow, toAsset } from "./record.ts";

/** The quota of a tenant in one environment. Assets that are `failed` or `deleted` do not count. */
export type AssetQuota = { maxAssets: number; maxBytes: number };

/** A new asset, and its job if it must be fetched or processed at once. */
export type NewAssetWrite = { asset: AssetRecord; job: JobRecord | null; quota: AssetQuota };

/** The owner of assets: one tenant, in one environment. */
export type AssetOwner = Pick<AssetRecord, "tenantId" | "environment">;

/**
 * Writes a new asset, its job, its audit event and, with a claim, the response. Stale when the caller has changed since
 * its look-up or is no longer valid. A create over the quota stores no claim. One statement.
 */
export const insertAsset = async (
  db: Runner,
  { asset, job, quota: { maxAssets, maxBytes } }: NewAssetWrite,
  caller: AnyCaller,
  origin: Origin,
  claim: Claim | null = null,
): Promise<WriteOutcome | { kind: "over_quota" }> => {
  const event = auditEvent("asset.created", asset, origin);
  const write = { caller, asset: assetRow(asset), job, auditEvent: event, claim, maxAssets, maxBytes };
  const [row] = await callCreate(db, write);
  return row?.kind === "over_quota" ? { kind: "over_quota" } : writeOutcome(row as WriteOutcomeRow);
};

type AssetLookUp = AssetOwner & { id: AssetId };
/** Reads of assets, in any status. */
export const ASSET_READS = batchedRead<AssetRow, AssetLookUp, AssetRecord>(
  "find_asset",
  ["tenantId", "environment", "id"],
  (inputs) => sql`
    select position::integer as "position", ${selectColumns(assets)}
    from ${inputs}
    cross join lateral (
      select * from ${assets}
      where ${assets.tenantId} = ${inputColumn("tenantId")} collate "C" and ${assets.id} = ${inputColumn("id")} collate "C"
        and ${assets.environment} = ${inputColumn("environment")}
      -- One row at a time, by the primary key: see find_credential.
      offset 0
    ) assets`,
  toAsset,
);
/**
 * The asset, in any status; `null` when the owner has no asset with this id. One statement, shared by concurrent reads.
 */
export const findAsset = (db: Db, { tenantId, environment }: AssetOwner, id: AssetId): Promise<AssetRecord | null> =>
  db.batch(ASSET_READS, { tenantId, environment, id }, tenantId);

/** The columns that serving a public file needs. */
export type PublicAsset = {
  tenantId: TenantId;
  id: AssetId;
  /** Media type of the public file. */
  publicType: string;
  /** Whether the service has rendered the file. Such a file is public unchanged. */
  isGenerated: boolean;
  version: number;
};

const PUBLIC_READS = batchedRead<PublicAsset, { token: string }, PublicAsset>(
  "find_public_asset",
  ["token"],
  (inputs) => sql`
    select position::integer as "position", tenant_id as "tenantId", id, public_type as "publicType",
      is_generated as "isGenerated", version
    from ${inputs}
    cross join lateral (
      select tenant_id, id, public_type, coalesce(origin = 'generated', false) as is_generated, version from ${assets}
      where public_token = ${inputColumn("token")} collate "C" and status = 'ready' and public_type is not null
      limit 1
    ) assets`,
  (asset) => asset,
);
/**
 * The asset of a public URL: it is `ready` and has a public file; `null` when no such asset exists. One statement,
 * shared by concurrent reads.
 */
export const findPublicAsset = (db: Db, token: string): Promise<PublicAsset | null> =>
  db.batch(PUBLIC_READS, { token }, token);

/** The file of a signed upload, and the job that processes it. */
export type AssetUpload = { contentType: string; sizeBytes: number; job: JobRecord };

/** The outcome of the completion of an upload. */
export type CompleteAssetOutcome =
  | { kind: "written"; asset: AssetRecord }
  /** Nothing was written: the asset is not a pending upload, or is no longer pending. */
  | { kind: "unchanged"; asset: AssetRecord }
  /** Nothing was written: an earlier attempt with the same claim had this response. */
  | { kind: "replayed"; response: StoredResponse }
  | { kind: "not_found" }
  /** Nothing was written: the caller has changed since its look-up. */
  | { kind: "stale" };

/**
 * Records that the file of a signed upload has been copied to its place: `pending_upload` becomes `uploaded`, with its
 * job and its audit event. Only `written` stores the claim. One statement.
 */
export const completeAsset = async (
  db: Runner,
  id: AssetId,
  { contentType, sizeBytes, job }: AssetUpload,
  caller: AnyCaller,
  origin: Origin,
  claim: Claim | null = null,
): Promise<CompleteAssetOutcome> => {
  const { tenantId, environment } = caller;
  const event = auditEvent("asset.uploaded", { tenantId, environment, id }, origin);
  const upload = { caller, environment, id, contentType, sizeBytes, job, auditEvent: event, claim };
  const [row] = await callComplete(db, upload);
  const { outcome, bodyHash, responseStatus, location, etag, responseBody, sealedFor, ...asset } = row as NonNullable<
    typeof row
  >;
  const kind = requireKind(outcome, ["written", "unchanged", "replayed", "not_found", "stale"]);
  switch (kind) {
    case "written":
    case "unchanged":
      return { kind, asset: toAsset(asset as AssetRow) };
    case "replayed": {
      const response = { bodyHash, status: responseStatus, location, etag, responseBody, sealedFor };
      return { kind, response: response as StoredResponse };
    }
    case "not_found":
    case "stale":
      return { kind };
  }
};

/** The outcome of a deletion. */
export type DeleteAssetOutcome =
  | { kind: "written"; asset: AssetRecord }
  /** Nothing was written: the asset is already deleted, or has a version that the deletion does not accept. */
  | { kind: "unchanged"; asset: AssetRecord }
  /** Nothing was written: an avatar that is not deleted refers to the asset. */
  | { kind: "in_use" }
  | { kind: "not_found" }
  /** Nothing was written: the caller has changed since its look-up. */
  | { kind: "stale" };

/** Deletes an asset with its job, unless `versions` excludes its version, and writes the audit event. One statement. */
export const deleteAsset = async (
  db: Runner,
  id: AssetId,
  { versions }: { versions: readonly string[] | null },
  caller: AnyCaller,
  origin: Origin,
): Promise<DeleteAssetOutcome> => {
  const { tenantId, environment } = caller;
  const event = auditEvent("asset.deleted", { tenantId, environment, id }, origin);
  const [row] = await callDelete(db, { caller, environment, id, versions, auditEvent: event });
  const { outcome, ...asset } = row as NonNullable<typeof row>;
  const kind = requireKind(outcome, ["written", "unchanged", "in_use", "not_found", "stale"]);
  return kind === "written" || kind === "unchanged" ? { kind, asset: toAsset(asset as AssetRow) } : { kind };
};

const selectMeter = statement<{ assets: string; bytes: string }>(
  "find_asset_meter",
  sql`
    select ${selectColumns({ assets: assetMeters.assets, bytes: assetMeters.bytes })} from ${assetMeters}
    where ${assetMeters.tenantId} = ${sql.placeholder("tenantId")}
      and ${assetMeters.environment} = ${sql.placeholder("environment")}`,
);

/**
 * Whether the owner has room for one more asset of `bytes`: a hint before a long upload. `insertAsset` decides. One
 * statement.
 */
export const hasAssetRoom = async (
  db: Runner,
  { tenantId, environment }: AssetOwner,
  { maxAssets, maxBytes }: AssetQuota,
  bytes: number,
): Promise<boolean> => {
  const [meter] = await selectMeter(db, { tenantId, environment });
  return Number(meter?.assets ?? 0) + 1 <= maxAssets && Number(meter?.bytes ?? 0) + bytes <= maxBytes;
};

/** An asset with a stored file, and its status. */
export type StoredAsset = Pick<AssetRecord, "tenantId" | "id" | "status">;

const selectStored = batchStatement<StoredAsset, Pick<AssetRecord, "tenantId" | "id">>(
  "list_stored_assets",
  ["tenantId", "id"],
  (inputs) => sql`
    select position::integer as "position", assets.tenant_id as "tenantId", assets.id, assets.status
    from ${inputs}
    cross join lateral (
      select * from ${assets}
      where ${assets.tenantId} = ${inputColumn("tenantId")} collate "C" and ${assets.id} = ${inputColumn("id")} collate "C"
        and ${assets.status} not in ('failed', 'deleted')
      offset 0
    ) assets`,
);

/** Which of these assets exist and need their file: they are neither `failed` nor `deleted`. One statement. */
export const existingAssets = async (
  db: Runner,
  ids: readonly Pick<AssetRecord, "tenantId" | "id">[],
): Promise<StoredAsset[]> =>
  (await selectStored(db, ids)).map(({ tenantId, id, status }) => ({ tenantId, id, status }));
