/** Writes new assets within the quota of their tenant, with the job that processes them. */

import type { AnyCaller } from "@realtime-avatar/db/api-keys/callers";
import { type AssetQuota, hasAssetRoom, insertAsset } from "@realtime-avatar/db/assets/assets";
import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type Claim, findStoredResponse, type WriteOutcome } from "@realtime-avatar/db/idempotency/idempotency-keys";
import type { AssetRecord } from "@realtime-avatar/domain/assets/asset";
import { newId } from "@realtime-avatar/domain/id";
import type { JobRecord } from "@realtime-avatar/domain/job";
import { Problem } from "@realtime-avatar/domain/problem";
import type { Dependencies } from "../dependencies.ts";
import { claimedRequest } from "../http/idempotency.ts";
import { isPerson } from "../http/people/person.ts";

/** The quota of each tenant in each environment. */
export const quotaOf = ({ config }: Pick<Dependencies, "config">): AssetQuota => ({
  maxAssets: config.maxAssetsPerTenant,
  maxBytes: config.maxAssetBytesPerTenant,
});

const quotaExceeded = ({ maxAssets, maxBytes }: AssetQuota): Problem => {
  const limits = `${maxAssets} assets, and ${maxBytes} bytes in all`;
  return new Problem("quota_exceeded", `In each environment, a tenant can have ${limits}. Failed ones do not count.`);
};

/** The job that fetches and processes an asset. */
export const processingJob = (asset: AssetRecord, { now, random }: Origin): JobRecord => ({
  id: newId("job", now, random),
  tenantId: asset.tenantId,
  environment: asset.environment,
  kind: "process_asset",
  targetId: asset.id,
  generation: 1,
  runAt: now,
});

/** Writes a new asset. Throws the problem `quota_exceeded`. */
export const createAsset = async (
  db: Db,
  { asset, job, quota }: { asset: AssetRecord; job: JobRecord | null; quota: AssetQuota },
  caller: AnyCaller,
  origin: Origin,
  claim: Claim | null,
): Promise<WriteOutcome> => {
  const outcome = await insertAsset(db, { asset, job, quota }, caller, origin, claim);
  if (outcome.kind === "over_quota") throw quotaExceeded(quota);
  return outcome;
};

/**
 * Throws the problem `quota_exceeded` before a file is received, when the tenant has no room for `bytes` more. A request
 * that was executed before is let through: its response is replayed.
 */
export const checkRoom = async (
  db: Db,
  quota: AssetQuota,
  bytes: number,
  caller: AnyCaller,
  request: Request,
  path: string,
): Promise<void> => {
  if (await hasAssetRoom(db, caller, quota, bytes)) return;
  const idempotencyKey = request.headers.get("idempotency-key");
  const claim =
    idempotencyKey === null ? null : { request: claimedRequest(request, path, isPerson(caller)), idempotencyKey };
  if (claim === null || (await findStoredResponse(db, caller, claim)) === null) throw quotaExceeded(quota);
};
