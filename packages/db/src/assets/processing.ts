/** The processing of assets in the database: starts and finishes the job of an asset, and fails uploads without a file. */
import type { AssetRecord } from "@realtime-avatar/domain/assets/asset";
import type { AssetError } from "@realtime-avatar/domain/assets/schemas";
import { newId } from "@realtime-avatar/domain/id";
import {
  deleteGeneratedFiles as callDeleteGenerated,
  failAbandonedUploads as callFailAbandoned,
  finishAsset as callFinish,
  startAsset as callStart,
} from "../../generated/functions.ts";
import { auditEvent, type Origin } from "../audit/audit-events.ts";
import type { Runner } from "../connection/batch.ts";
import type { ClaimedJob } from "../jobs/jobs.ts";
import { type AssetRow, toAsset } from "./record.ts";

/**
 * Starts the job of an asset, and returns the asset. An `uploaded` asset becomes `processing`. A remote asset stays
 * `pending_upload` until `finishAsset` records its file. `null`: the asset is failed or deleted, or the lease is lost.
 * One statement.
 */
export const startAsset = async (db: Runner, job: ClaimedJob): Promise<AssetRecord | null> => {
  const [row] = await callStart(db, { job, lease: job.lease });
  return row ? toAsset(row as AssetRow) : null;
};

/** The result of processing an asset. `publicType`: media type of the public file; null without one. */
export type AssetResult =
  | {
      kind: "ready";
      contentType: string;
      sizeBytes: number;
      sha256: string;
      publicType: string | null;
      /** Of audio. */
      durationMs?: number | null;
    }
  | ({ kind: "failed" } & AssetError);

const NO_FILE = { contentType: null, sizeBytes: null, sha256: null, publicType: null, durationMs: null };

/**
 * Ends the job of an asset: the asset becomes `ready` or `failed`, with its audit event, and the tenant's quota counts
 * its size. `lost`: the asset is unchanged, because it is failed or deleted, or the lease is lost. One statement.
 */
export const finishAsset = async (
  db: Runner,
  job: ClaimedJob,
  result: AssetResult,
  origin: Origin,
): Promise<"finished" | "lost"> => {
  const { kind, ...shown } = result;
  const failure = {
    errorCode: "code" in shown ? shown.code : null,
    errorDetail: "detail" in shown ? shown.detail : null,
  };
  const [row] = await callFinish(db, {
    job,
    lease: job.lease,
    result: { ...NO_FILE, ...shown, ...failure, status: kind },
    auditEvent: auditEvent(kind === "ready" ? "asset.ready" : "asset.failed", { ...job, id: job.targetId }, origin),
  });
  return row?.result === true ? "finished" : "lost";
};

/**
 * Fails up to `limit` signed uploads whose file has not arrived within 24 hours, with the code `not_uploaded`, and returns
 * their number. One statement.
 */
export const failAbandonedUploads = async (
  db: Runner,
  limit: number,
  { now, random, requestId }: Origin,
): Promise<number> => {
  const eventIds = Array.from({ length: limit }, () => newId("aud", now, random));
  const detail = "The file did not arrive within 24 hours. Create another upload.";
  const [row] = await callFailAbandoned(db, { eventIds, requestId, createdAt: now, detail });
  return row?.result ?? 0;
};

/**
 * Deletes up to `limit` generated assets from before `createdBefore`, except the sources of avatars. Returns their
 * number. The sweep of files deletes their files. One statement.
 */
export const deleteGeneratedFiles = async (
  db: Runner,
  limit: number,
  createdBefore: Date,
  { now, random, requestId }: Origin,
): Promise<number> => {
  const eventIds = Array.from({ length: limit }, () => newId("aud", now, random));
  const [row] = await callDeleteGenerated(db, { eventIds, requestId, createdAt: now, createdBefore });
  return row?.result ?? 0;
};
