/**
 * Preparations of avatars in the database: the start and end of a job, and its stored files. The queue is in `jobs.ts`.
 */
import type { AssetRecord } from "@realtime-avatar/domain/assets/asset";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import type { Check } from "@realtime-avatar/domain/avatars/checks";
import { manifestId } from "@realtime-avatar/domain/avatars/preparation";
import { TEST_ASSET_PREFIX } from "@realtime-avatar/domain/avatars/test-assets";
import type { AssetId, AvatarId, TenantId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import { finishPreparation as callFinish, startPreparation as callStart } from "../../generated/functions.ts";
import { ASSET_READS } from "../assets/assets.ts";
import { auditEvent, type Origin } from "../audit/audit-events.ts";
import type { Runner } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { requireKind } from "../idempotency/idempotency-keys.ts";
import type { ClaimedJob } from "../jobs/jobs.ts";
import { batchedRead } from "../query/batched-read.ts";
import { batchStatement, inputColumn } from "../query/statement.ts";
import { avatars } from "../schema/avatars.ts";
import { jobs } from "../schema/jobs.ts";
import { type AvatarRow, toAvatar } from "./record.ts";

/** The input of a preparation. */
export type PreparationStart =
  /** `asset`: null for a test asset, and when no such asset exists. */
  | { kind: "started"; avatar: AvatarRecord; sourceAssetId: string; asset: AssetRecord | null }
  /** The source cannot be examined: `detail` says why. */
  | { kind: "asset_failed"; avatar: AvatarRecord; detail: string }
  /** The asset has not arrived yet: the job was given back. */
  | { kind: "waiting" }
  /** No work remains: the lease is lost, the avatar is deleted, or another generation is prepared. */
  | { kind: "gone" };

/**
 * Returns the input of a preparation's job. A job whose asset has not arrived is given back, and this attempt does not
 * count. One statement, and a second one for the asset.
 */
export const startPreparation = async (db: Runner, job: ClaimedJob): Promise<PreparationStart> => {
  const [row] = await callStart(db, { job, lease: job.lease });
  const { outcome, detail, ...fields } = row as NonNullable<typeof row>;
  const kind = requireKind(outcome, ["started", "asset_failed", "waiting", "gone"]);
  if (kind === "waiting" || kind === "gone") return { kind };
  const avatar = toAvatar(fields as AvatarRow);
  const sourceAssetId = avatar.pendingSourceAssetId ?? avatar.sourceAssetId;
  if (kind === "asset_failed" || sourceAssetId === null) {
    return { kind: "asset_failed", avatar, detail: detail ?? "The avatar has no source. Set sourceAssetId." };
  }
  if (sourceAssetId.startsWith(TEST_ASSET_PREFIX)) return { kind, avatar, sourceAssetId, asset: null };
  const { tenantId, environment } = avatar;
  const [asset] = await ASSET_READS.run(db, [{ tenantId, environment, id: sourceAssetId as AssetId }]);
  return { kind, avatar, sourceAssetId, asset: asset && asset.status !== "deleted" ? asset : null };
};

/** The result of a preparation. */
export type PreparationResult =
  | {
      kind: "ready";
      checks: readonly Check[];
      cacheManifestId: string;
      /** The token and the file of the preview; both null without a preview. */
      previewToken: string | null;
      previewFile: string | null;
    }
  | { kind: "failed"; error: string; checks: readonly Check[] };

const NOTHING = { error: null, cacheManifestId: null, previewToken: null, previewFile: null };

/**
 * Ends a preparation: deletes its job, and writes the result to the avatar with the audit event. An avatar that was
 * `ready` or `disabled` stays so. `lost`: the avatar is unchanged, because the lease is lost, the avatar is deleted, or
 * another generation is prepared. One statement.
 */
export const finishPreparation = async (
  db: Runner,
  job: ClaimedJob,
  { kind, checks, ...shown }: PreparationResult,
  origin: Origin,
): Promise<"finished" | "lost"> => {
  const action = kind === "ready" ? "avatar.prepared" : "avatar.preparation_failed";
  const [row] = await callFinish(db, {
    job,
    lease: job.lease,
    result: { ...NOTHING, ...shown, status: kind, checks: JSON.stringify(checks) },
    auditEvent: auditEvent(action, { ...job, id: job.targetId }, origin),
  });
  return row?.result === true ? "finished" : "lost";
};

/** The prepared files of an avatar, of one generation. */
export type Preparation = { tenantId: TenantId; id: AvatarId; generation: number };

/**
 * How many generations before the latest are stored for an hour after the last change of an avatar, because a call may
 * have read a manifest that is no longer served. Because of the bound, an avatar whose source changes all the time
 * cannot fill the store.
 */
export const KEPT_GENERATIONS = 8;

const selectPreparations = batchStatement<{ isNeeded: boolean }, Preparation & { manifestStart: string }>(
  "list_preparations",
  ["tenantId", "id", "generation", "manifestStart"],
  (inputs) => sql`
    select position::integer as "position", avatar.status <> 'deleted' and (
      starts_with(avatar.cache_manifest_id, ${inputColumn("manifestStart")})
      or avatar.is_prepared and avatar.generation = ${inputColumn("generation")}::integer
      or avatar.updated_at > now() - interval '1 hour'
        and ${inputColumn("generation")}::integer between avatar.generation - ${sql.raw(`${KEPT_GENERATIONS}`)} and avatar.generation - 1
    ) is true as "isNeeded"
    from ${inputs}
    cross join lateral (
      select ${avatars.generation}, ${avatars.cacheManifestId}, ${avatars.status}, ${avatars.updatedAt}, exists (
        select from ${jobs}
        where ${jobs.tenantId} = ${avatars.tenantId} and ${jobs.targetId} = ${avatars.id} and ${jobs.kind} = 'prepare_avatar'
          and ${jobs.generation} = ${avatars.generation}
      ) as is_prepared
      from ${avatars}
      where ${avatars.tenantId} = ${inputColumn("tenantId")} collate "C" and ${avatars.id} = ${inputColumn("id")} collate "C"
      offset 0
    ) avatar`,
);

/**
 * Returns the preparations whose avatar exists (a deleted avatar counts), and whether their files are needed: those of
 * the served generation, those of the latest one while its job exists, and those of earlier ones for a while. One
 * statement.
 */
export const knownPreparations = async (
  db: Runner,
  all: readonly Preparation[],
): Promise<(Preparation & { isNeeded: boolean })[]> => {
  const inputs = all.map(({ tenantId, id, generation }) => {
    const manifestStart = manifestId(generation, "");
    return { tenantId, id, generation, manifestStart };
  });
  return (await selectPreparations(db, inputs)).map(({ position, isNeeded }) => ({
    ...(inputs[position - 1] as Preparation),
    isNeeded,
  }));
};

/** The columns for serving a preview or its original picture. */
export type Preview = { tenantId: TenantId; id: AvatarId; previewFile: string; cacheManifestId: string | null };

const PREVIEW_READS = batchedRead<Preview, { token: string }, Preview>(
  "find_preview",
  ["token"],
  (inputs) => sql`
    select position::integer as "position", tenant_id as "tenantId", id, preview_file as "previewFile",
      cache_manifest_id as "cacheManifestId"
    from ${inputs}
    cross join lateral (
      select tenant_id, id, preview_file, cache_manifest_id from ${avatars}
      where preview_token = ${inputColumn("token")} collate "C" and preview_token is not null and status <> 'deleted'
      limit 1
    ) avatars`,
  (preview) => preview,
);

/**
 * The preview of a public URL; `null` when no avatar has it, or the avatar is deleted. One statement, shared by
 * concurrent reads.
 */
export const findPreview = (db: Db, token: string): Promise<Preview | null> =>
  db.batch(PREVIEW_READS, { token }, token);
