/**
 * The writes of workers to videos: the start, progress and end of their jobs, and the failure of videos that no worker
 * has taken.
 */
import type { AssetRecord } from "@realtime-avatar/domain/assets/asset";
import { VIDEO_ERRORS, type VideoErrorCode } from "@realtime-avatar/domain/videos/errors";
import { MAX_WAITING_HOURS } from "@realtime-avatar/domain/videos/limits";
import type { VideoError } from "@realtime-avatar/domain/videos/schemas";
import type { VideoRecord } from "@realtime-avatar/domain/videos/video";
import {
  failWaitingVideos as callFailWaiting,
  finishVideo as callFinish,
  reportVideo as callReport,
  startVideo as callStart,
  type StartVideoRow,
} from "../../generated/functions.ts";
import type { AssetQuota } from "../assets/assets.ts";
import { assetRow } from "../assets/record.ts";
import type { Origin } from "../audit/audit-events.ts";
import type { Runner } from "../connection/batch.ts";
import { requireKind } from "../idempotency/idempotency-keys.ts";
import type { ClaimedJob } from "../jobs/jobs.ts";
import { toVideo, type VideoRow } from "./record.ts";

/** The reason why a video must end: see `video_end.sql`. */
export type VideoEnd = "canceled" | "key_ended" | "session_ended";

/** The next step of a video's job. */
export type VideoStart =
  | { kind: "started"; video: VideoRecord }
  /** The video must end without an attempt. */
  | { kind: "must_end"; reason: VideoEnd }
  /** No work is left: the lease is lost, or the video has ended. */
  | { kind: "gone" };

/** Starts the job of a video: the video becomes `rendering`. Returns it. One statement. */
export const startVideo = async (db: Runner, job: ClaimedJob): Promise<VideoStart> => {
  const [row] = await callStart(db, { job, lease: job.lease });
  const { outcome, reason, ...video } = row as StartVideoRow;
  const kind = requireKind(outcome, ["started", "must_end", "gone"]);
  switch (kind) {
    case "started":
      return { kind, video: toVideo(video as VideoRow) };
    case "must_end":
      return { kind, reason: reason as VideoEnd };
    case "gone":
      return { kind };
  }
};

/**
 * Records the rendered part of a video: 0 to 1, with three digits. Returns the reason why the work must stop; null when
 * it goes on. One statement.
 */
export const reportVideo = async (db: Runner, job: ClaimedJob, progress: number): Promise<VideoEnd | "gone" | null> => {
  const [row] = await callReport(db, { job, lease: job.lease, progress: Math.floor(progress * 1000) / 1000 });
  return (row?.result ?? null) as VideoEnd | "gone" | null;
};

/** The result of an attempt to render a video. */
export type VideoResult =
  | { kind: "ready"; asset: AssetRecord; durationMs: number; warnings: readonly string[]; quota: AssetQuota }
  | ({ kind: "failed" } & VideoError)
  /** The video must end, as `startVideo` or `reportVideo` has reported. */
  | { kind: "must_end" };

/** The new status of a video. `lost`: nothing changed, because the lease is lost or the video has ended. */
export type FinishedVideo = "ready" | "failed" | "canceled" | "lost";

const NOTHING = { durationMs: null, warnings: [], errorCode: null, errorDetail: null };
const rowOf = (result: VideoResult) => {
  switch (result.kind) {
    case "ready":
      return { ...NOTHING, status: "ready", durationMs: result.durationMs, warnings: [...result.warnings] };
    case "failed":
      return { ...NOTHING, status: "failed", errorCode: result.code, errorDetail: result.detail };
    case "must_end":
      // The reason is that of the database function, unless it has changed meanwhile.
      return {
        ...NOTHING,
        status: "failed",
        errorCode: "internal" satisfies VideoErrorCode,
        errorDetail: VIDEO_ERRORS.internal,
      };
  }
};

/**
 * Ends the job of a video: writes the result, the asset with the file, and the event, and closes the usage session,
 * which is charged the seconds of the file. A video that must end (`VideoEnd`) ends for that reason. A video whose file
 * does not fit into the quota has failed. One statement.
 */
export const finishVideo = async (
  db: Runner,
  job: ClaimedJob,
  result: VideoResult,
  { requestId }: Pick<Origin, "requestId">,
): Promise<FinishedVideo> => {
  const { asset, quota } = result.kind === "ready" ? result : { asset: null, quota: { maxAssets: 0, maxBytes: 0 } };
  const [row] = await callFinish(db, {
    job,
    lease: job.lease,
    result: rowOf(result),
    asset: asset && assetRow(asset),
    ...quota,
    details: {
      keyEnded: VIDEO_ERRORS.key_ended,
      sessionEnded: VIDEO_ERRORS.session_ended,
      quotaExceeded: VIDEO_ERRORS.quota_exceeded,
    },
    requestId,
  });
  return requireKind(row?.result ?? null, ["ready", "failed", "canceled", "lost"] as const);
};

/**
 * Fails up to `limit` videos that no worker has finished within `MAX_WAITING_HOURS`, with the code `no_capacity`, and returns their
 * number. One statement.
 */
export const failWaitingVideos = async (
  db: Runner,
  limit: number,
  { requestId }: Pick<Origin, "requestId">,
  maxHours: number = MAX_WAITING_HOURS,
): Promise<number> => {
  const detail = VIDEO_ERRORS.no_capacity;
  const [row] = await callFailWaiting(db, { limit, maxHours, detail, requestId });
  return row?.result ?? 0;
};
