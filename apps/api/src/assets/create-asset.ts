/** New assets: the quota of their tenant, and the job that processes them. */

import { type AssetQuota, hasAssetRoom, insertAsset } from "@realtime-avatar/db/assets/assets";
import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import type { Claim, WriteOutcome } from "@realtime-avatar/db/idempotency/idempotency-keys";
import type { AssetRecord } from "@realtime-avatar/domain/assets/asset";
import { newId } from "@realtime-avatar/domain/id";
import type { JobRecord } from "@realtime-avatar/domain/job";
import { Problem } from "@realtime-avatar/domain/problem";
import type { Dependencies } from "../dependencies.ts";
import type { WriteRequest } from "../http/authenticate.ts";
import { findReplay } from "../http/idempotency.ts";
import type { Attempt, OutcomeOf } from "../http/write.ts";

/** The quota of each tenant in each environment. */
const quotaOf = ({ config }: Pick<Dependencies, "config">): AssetQuota => ({
  maxAssets: config.maxAssetsPerTenant,
  maxBytes: config.maxAssetBytesPerTenant,
});

const quotaExceeded = ({ maxAssets, maxBytes }: AssetQuota): Problem => {
  const limits = `${maxAssets} assets, and ${maxBytes} bytes in all`;
  const facts = `In each environment, a tenant can have ${limits}. Failed ones do not count.`;
  return new Problem("quota_exceeded", `${facts} Delete assets, or ask the operator for a higher quota.`);
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

/** The insert of a new asset, for the plan of a write. `job`: processes its file; null when the file comes later. */
export const assetInsert =
  (
    { db, caller, origin, dependencies }: Pick<Attempt<unknown>, "db" | "caller" | "origin" | "dependencies">,
    asset: AssetRecord,
    job: JobRecord | null,
  ) =>
  (claim: Claim | null) =>
    insertAsset(db, { asset, job, quota: quotaOf(dependencies) }, caller, origin, claim);

/** The outcome of the insert of a new asset. Throws the problem `quota_exceeded`. */
export const settleInsert = (
  outcome: OutcomeOf<typeof insertAsset>,
  { dependencies }: Pick<WriteRequest, "dependencies">,
): WriteOutcome => {
  if (outcome.kind === "over_quota") throw quotaExceeded(quotaOf(dependencies));
  return outcome;
};

/**
 * Throws the problem `quota_exceeded` before a file is received, when the quota has no room for `bytes` more. A
 * repeated request passes, because its response is replayed.
 */
export const checkRoom = async (write: WriteRequest, bytes: number): Promise<void> => {
  const { db, caller, dependencies } = write;
  const quota = quotaOf(dependencies);
  if (await hasAssetRoom(db, caller, quota, bytes)) return;
  if ((await findReplay(db, write)) === null) throw quotaExceeded(quota);
};
