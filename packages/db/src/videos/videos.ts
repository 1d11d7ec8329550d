/**
 * Videos in the database: their creation, their deletion and reads by their id. The writes of workers are in
 * `rendering.ts`.
 */
import type { AssetStatus } from "@realtime-avatar/domain/assets/status";
import type { AvatarStatus } from "@realtime-avatar/domain/avatars/status";
import type { Environment } from "@realtime-avatar/domain/environment";
import { type AssetId, newId, type TenantId, type VideoId } from "@realtime-avatar/domain/id";
import { MAX_AUDIO_SECONDS, MAX_WAITING_HOURS } from "@realtime-avatar/domain/videos/limits";
import type { DecidedFields, Video } from "@realtime-avatar/domain/videos/schemas";
import { type PlannedVideo, sessionMetadata, type VideoRecord } from "@realtime-avatar/domain/videos/video";
import { sql } from "drizzle-orm";
import {
  type CreateVideoRow,
  createVideo as callCreate,
  deleteVideo as callDelete,
  type DeleteVideoRow,
} from "../../generated/functions.ts";
import { auditEvent, type Origin } from "../audit/audit-events.ts";
import type { AnyCaller, Caller } from "../callers/callers.ts";
import type { Runner } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { type Claim, requireKind, type StoredResponse } from "../idempotency/idempotency-keys.ts";
import { batchedRead } from "../query/batched-read.ts";
import { inputColumn } from "../query/statement.ts";
import { videos } from "../schema/videos.ts";
import { toVideo, type VideoRow } from "./record.ts";
import { VIDEO } from "./text.ts";

/** The terms of new videos: the existing voices, the default voice, the price of a second, and the limit of videos. */
export type VideoTerms = {
  voiceIds: readonly string[];
  defaultVoiceId: string;
  /** Credit micros for each second. */
  price: number;
  /** The maximum number of queued or rendered videos of the tenant in the environment. */
  maxVideos: number;
};

/**
 * The outcome of a request for a video. Only `written` wrote rows. `requiredCreditMicros`: the credits that the video
 * must hold.
 */
export type CreateVideoOutcome =
  | { kind: "written"; responseFields: DecidedFields }
  | { kind: "replayed"; response: StoredResponse; responseFields: DecidedFields }
  | {
      kind: "stale" | "asset_not_found" | "asset_kind_mismatch" | "audio_too_long" | "too_many_videos";
    }
  | { kind: "avatar_not_found" }
  | { kind: "asset_not_usable"; assetStatus: AssetStatus }
  | { kind: "avatar_not_ready"; avatarStatus: AvatarStatus }
  | { kind: "spend_limit_exceeded"; limitedBy: "self" | "ancestor"; requiredCreditMicros: number }
  | { kind: "insufficient_credits"; requiredCreditMicros: number };

/**
 * The lease of a session ends an hour after the time at which its video fails for lack of a worker, so that every hold
 * ends.
 */
const SESSION_SECONDS = (MAX_WAITING_HOURS + 1) * 3600;

const createOutcomeOf = (row: CreateVideoRow): CreateVideoOutcome => {
  const kind = requireKind(row.kind, [
    "written",
    "replayed",
    "stale",
    "asset_not_found",
    "asset_kind_mismatch",
    "asset_not_usable",
    "audio_too_long",
    "too_many_videos",
    "avatar_not_found",
    "avatar_not_ready",
    "spend_limit_exceeded",
    "insufficient_credits",
  ]);
  const requiredCreditMicros = Number(row.required);
  switch (kind) {
    case "written":
      return { kind, responseFields: row.decided as DecidedFields };
    case "replayed": {
      const { bodyHash, responseStatus: status, location, etag, responseBody, sealedFor } = row;
      const response = { bodyHash, status, location, etag, responseBody, sealedFor } as StoredResponse;
      return { kind, response, responseFields: row.decided as DecidedFields };
    }
    case "asset_not_usable":
      return { kind, assetStatus: row.assetStatus as AssetStatus };
    case "avatar_not_ready":
      return { kind, avatarStatus: row.avatarStatus as AvatarStatus };
    case "spend_limit_exceeded":
      return { kind, limitedBy: row.limitedBy === "self" ? "self" : "ancestor", requiredCreditMicros };
    case "insufficient_credits":
      return { kind, requiredCreditMicros };
    default:
      return { kind };
  }
};

/**
 * Creates a video, holds its credits, and writes its job. The stored response of a claim lacks the `DecidedFields`,
 * which are stored beside it. One statement.
 */
export const createVideo = async (
  db: Runner,
  video: PlannedVideo,
  terms: VideoTerms,
  caller: Caller,
  origin: Origin,
  claim: Claim | null = null,
): Promise<CreateVideoOutcome> => {
  const request = {
    ...video,
    ...terms,
    maxAudioSeconds: MAX_AUDIO_SECONDS,
    sessionMetadata: sessionMetadata(video.metadata),
    sessionSeconds: SESSION_SECONDS,
    requestId: origin.requestId,
  };
  const [row] = await callCreate(db, { caller, request, claim });
  return createOutcomeOf(row as CreateVideoRow);
};

/** The owner of videos: one tenant, in one environment. */
export type VideoOwner = { tenantId: TenantId; environment: Environment };

/** A video in the form of the API, with its version. */
export type FoundVideo = { video: Video; version: number };

const READS = batchedRead<FoundVideo, VideoOwner & { id: VideoId; origin: string }, FoundVideo>(
  "find_video",
  ["tenantId", "environment", "id", "origin"],
  (inputs) => sql`
    select position::integer as "position", (${VIDEO})::json as "video", ${videos.version} as "version"
    from ${inputs}
    cross join lateral (
      select * from ${videos}
      where ${videos.tenantId} = ${inputColumn("tenantId")} collate "C" and ${videos.id} = ${inputColumn("id")} collate "C"
        and ${videos.environment} = ${inputColumn("environment")}
      -- One row at a time, by the primary key: see find_credential.
      offset 0
    ) videos`,
  ({ video, version }) => ({ video, version }),
);

/**
 * The video, in any status; null when the owner has no video with this id. `origin`: scheme, host and port of public
 * URLs. One statement.
 */
export const findVideo = (
  db: Db,
  { tenantId, environment }: VideoOwner,
  id: VideoId,
  origin: string,
): Promise<FoundVideo | null> => db.batch(READS, { tenantId, environment, id, origin }, tenantId);

/** The outcome of a deletion. */
export type DeleteVideoOutcome =
  /** `deletedAssetId`: the asset that was deleted with the video, whose files must be deleted. */
  | { kind: "written"; video: VideoRecord; deletedAssetId: AssetId | null }
  /** Nothing was written: the video is already deleted, or has a version that the deletion does not accept. */
  | { kind: "unchanged"; video: VideoRecord }
  /** Nothing was written: the video does not belong to the lineage of the key. */
  | { kind: "not_own" }
  /** Nothing was written: an avatar that is not deleted is built from the file. */
  | { kind: "in_use" }
  | { kind: "not_found" }
  /** Nothing was written: the caller has changed since its look-up. */
  | { kind: "stale" };

/**
 * Cancels a video that is queued or rendered, or deletes another video with its file, unless `versions` excludes its
 * version. A key that does not manage files (`managesFiles`) may do this only with videos of its lineage. One
 * statement.
 */
export const deleteVideo = async (
  db: Runner,
  id: VideoId,
  { versions, managesFiles }: { versions: readonly string[] | null; managesFiles: boolean },
  caller: AnyCaller,
  origin: Origin,
): Promise<DeleteVideoOutcome> => {
  const { tenantId, environment } = caller;
  const event = auditEvent(
    "asset.deleted",
    { tenantId, environment, id: newId("ast", origin.now, origin.random) },
    origin,
  );
  const [row] = await callDelete(db, { caller, environment, id, versions, manages: managesFiles, auditEvent: event });
  const { outcome, deletedAssetId, ...video } = row as DeleteVideoRow;
  const kind = requireKind(outcome, ["written", "unchanged", "not_own", "in_use", "not_found", "stale"]);
  switch (kind) {
    case "written":
      return { kind, video: toVideo(video as VideoRow), deletedAssetId: deletedAssetId as AssetId | null };
    case "unchanged":
      return { kind, video: toVideo(video as VideoRow) };
    default:
      return { kind };
  }
};
