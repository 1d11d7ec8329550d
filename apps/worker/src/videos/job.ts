/**
 * The job `render_video`: renders a prepared avatar that says a text or a recording, and writes the file. The order of
 * the writes is: the file, the row. So a `ready` video has its file. The file of an unfinished attempt is removed here,
 * or by the sweep of files without a row.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { type AssetQuota, findAsset } from "@realtime-avatar/db/assets/assets";
import { findAvatar } from "@realtime-avatar/db/avatars/avatars";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { ClaimedJob } from "@realtime-avatar/db/jobs/jobs";
import {
  finishVideo,
  reportVideo,
  startVideo,
  type VideoEnd,
  type VideoResult,
} from "@realtime-avatar/db/videos/rendering";
import { type AssetRecord, generatedAsset, originalKey } from "@realtime-avatar/domain/assets/asset";
import { detectContentType } from "@realtime-avatar/domain/assets/magic";
import { manifestFile, preparedKey, wholePicture } from "@realtime-avatar/domain/avatars/preparation";
import { newId, newRequestId, type RandomBytes } from "@realtime-avatar/domain/id";
import { VIDEO_ERRORS, type VideoErrorCode } from "@realtime-avatar/domain/videos/errors";
import { MAX_AUDIO_SECONDS } from "@realtime-avatar/domain/videos/limits";
import type { VideoRecord } from "@realtime-avatar/domain/videos/video";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { SpeechSettings } from "@realtime-avatar/speech/settings";
import { leavesOutWords } from "@realtime-avatar/speech/text";
import { defaultVoice, findVoice } from "@realtime-avatar/speech/voices";
import type { Storage } from "@realtime-avatar/storage/storage";
import { type JobContext, type JobHandler, type JobOutcome, MAX_ATTEMPTS } from "../jobs/handler.ts";
import { errorText } from "../jobs/run-job.ts";
import { copyStored, MISSING_FILE, readFirstBytes } from "../jobs/stored-copy.ts";
import type { TemporaryFolders } from "../jobs/temporary-folders.ts";
import { readManifestFile } from "./manifest-file.ts";
import type { RenderVideo, VideoInput } from "./render.ts";

export type RenderJobOptions = {
  db: Db;
  storage: Storage;
  log: Logger;
  random: RandomBytes;
  temporary: TemporaryFolders;
  renderVideo: RenderVideo;
  /** Marks the file as generated: see `signVideo`. */
  sign: (file: { path: string; createdAt: Date; signal: AbortSignal }) => Promise<void>;
  speech: SpeechSettings;
  /** The quota of each tenant in each environment. */
  quota: AssetQuota;
  /** How often the progress is written and a cancellation is checked. By default every two seconds. */
  reportMs?: number;
};

const CONTENT_TYPE = "video/mp4";
const REPORT_MS = 2000;

type Failed = { kind: "failed"; code: VideoErrorCode; detail: string };
type Retry = { kind: "retry"; code: VideoErrorCode; error: string };
/** The result of the work on a video. `path`: the path of the file. */
type Work = { kind: "rendered"; path: string; durationMs: number; warnings: string[] } | Failed | Retry;

const failed = (code: VideoErrorCode): Failed => ({ kind: "failed", code, detail: VIDEO_ERRORS[code] });
const retry = (error: string): Retry => ({ kind: "retry", code: "internal", error });

/** The sound of a video, and its deviations from the request. */
type Sound = { kind: "sound"; sound: VideoInput["sound"]; warnings: string[] };

const soundOfText = (speech: SpeechSettings, text: string, voiceId: string | null): Sound => {
  const named = voiceId === null ? null : findVoice(speech, voiceId);
  const voice = named ?? defaultVoice(speech);
  const warnings: string[] = [];
  // The operator has removed the voice since the video was created.
  if (named === null) warnings.push(`The voice ${voiceId} does not exist any more. The voice is ${voice.id}.`);
  if (leavesOutWords(text, voice)) {
    warnings.push(`The voice ${voice.id} speaks English: words in letters of another script are left out.`);
  }
  return { kind: "sound", sound: { kind: "text", text, voice }, warnings };
};

const soundOfAudio = async (
  { db, storage }: RenderJobOptions,
  video: VideoRecord,
  folder: string,
  signal: AbortSignal,
): Promise<Sound | Failed | Retry> => {
  const asset = video.audioAssetId && (await findAsset(db, video, video.audioAssetId));
  if (asset?.status !== "ready") return failed("audio_unavailable");
  const path = join(folder, "audio");
  const file = await copyStored(storage, originalKey(asset), path, signal);
  if (file === null) return retry(MISSING_FILE);
  const magic = detectContentType(await readFirstBytes(path));
  if (magic === null || file.sha256 !== asset.sha256) return retry("The stored file is not the file of this asset.");
  // The seconds for which the creation of the video has held credits.
  const maxSeconds = asset.durationMs === null ? MAX_AUDIO_SECONDS : Math.ceil(asset.durationMs / 1000);
  return { kind: "sound", sound: { kind: "file", path, magic, maxSeconds }, warnings: [] };
};

/** Renders a video in `folder`. */
const render = async (
  options: RenderJobOptions,
  video: VideoRecord,
  folder: string,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (fraction: number) => void },
): Promise<Work> => {
  const { db, storage, speech, renderVideo } = options;
  const avatar = await findAvatar(db, video, video.avatarId);
  const manifestName = avatar?.status === "ready" ? manifestFile(avatar.cacheManifestId ?? "") : null;
  if (!avatar || manifestName === null) return failed("avatar_unavailable");
  const manifest = await readManifestFile(storage, preparedKey(avatar, manifestName), signal);
  if (manifest === null)
    return retry("The store has no manifest of the avatar. Do the API and the worker use one store?");
  const pictureName = wholePicture(manifest);
  if (pictureName === null) return failed("avatar_unavailable");
  const picture = join(folder, "picture");
  if ((await copyStored(storage, preparedKey(avatar, pictureName), picture, signal)) === null)
    return retry(MISSING_FILE);
  const sound =
    video.text === null
      ? await soundOfAudio(options, video, folder, signal)
      : soundOfText(speech, video.text, video.voiceId);
  if (sound.kind !== "sound") return sound;
  const mesh = (manifest["face"] ?? null) as VideoInput["mesh"];
  const input = { picture, mesh, sound: sound.sound, isTest: video.environment === "test", seed: video.id, folder };
  const outcome = await renderVideo(input, { signal, onProgress });
  return outcome.kind === "rendered" ? { ...outcome, warnings: [...sound.warnings, ...outcome.warnings] } : outcome;
};

/** Writes the progress of a job, and learns whether the video must end. Then it sets `end` and calls `onEnd`. */
const startReports = ({ db, log, reportMs = REPORT_MS }: RenderJobOptions, job: ClaimedJob, onEnd: () => void) => {
  const reports = { progress: 0, end: null as VideoEnd | "gone" | null };
  let isReporting = false;
  const report = async (): Promise<void> => {
    if (isReporting || reports.end !== null) return;
    isReporting = true;
    try {
      reports.end = await reportVideo(db, job, reports.progress);
      if (reports.end !== null) onEnd();
    } catch (error) {
      log.warn({ jobId: job.id, error: errorText(error) }, "failed to report the progress of a video");
    } finally {
      isReporting = false;
    }
  };
  const timer = setInterval(() => void report(), reportMs);
  return { reports, stop: (): void => clearInterval(timer) };
};

const digestOf = async (path: string): Promise<{ sizeBytes: number; sha256: string }> => {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  for await (const chunk of createReadStream(path)) {
    hash.update(chunk);
    sizeBytes += chunk.length;
  }
  return { sizeBytes, sha256: hash.digest("hex") };
};

const originNow = ({ random }: RenderJobOptions) => {
  const now = new Date();
  return { actor: null, requestId: newRequestId(now, random), now, random };
};

const finish = async (options: RenderJobOptions, job: ClaimedJob, result: VideoResult): Promise<JobOutcome> => {
  const finished = await finishVideo(options.db, job, result, originNow(options));
  return finished === "ready" || finished === "failed" ? { kind: finished } : { kind: "gone" };
};

/** Stores the file, and ends the job with it. Removes the file again if no row names it. */
const store = async (
  options: RenderJobOptions,
  job: ClaimedJob,
  { path, durationMs, warnings }: Extract<Work, { kind: "rendered" }>,
  { holdLease, signal }: JobContext,
): Promise<JobOutcome> => {
  const { storage, log, random, quota, sign } = options;
  const { now } = originNow(options);
  await sign({ path, createdAt: now, signal });
  const { tenantId, environment } = job;
  const owner = { id: newId("ast", now, random), tenantId, environment, now };
  const asset: AssetRecord = generatedAsset(
    owner,
    { ...(await digestOf(path)), contentType: CONTENT_TYPE, durationMs },
    random,
  );
  if (!(await holdLease())) return { kind: "gone" };
  await storage.put(originalKey(asset), { path }, CONTENT_TYPE);
  // When this throws, the row may exist. So the file remains. The sweep removes it if no row exists.
  const outcome = await finish(options, job, { kind: "ready", asset, durationMs, warnings, quota });
  if (outcome.kind !== "ready") {
    await storage
      .delete(originalKey(asset))
      .catch((error: unknown) => log.warn({ jobId: job.id, error: errorText(error) }, "failed to delete a file"));
  }
  return outcome;
};

/** Creates the handler of `render_video`. */
export const createRenderJob =
  (options: RenderJobOptions): JobHandler =>
  async (job, context) => {
    const start = await startVideo(options.db, job);
    if (start.kind === "gone") return { kind: "gone" };
    if (start.kind === "must_end") return finish(options, job, { kind: "must_end" });
    const ending = new AbortController();
    const { reports, stop } = startReports(options, job, () => ending.abort());
    const signal = AbortSignal.any([context.signal, ending.signal]);
    const onProgress = (fraction: number): void => {
      reports.progress = Math.min(1, Math.max(reports.progress, fraction));
    };
    try {
      return await options.temporary.use(async (folder) => {
        const work = await render(options, start.video, folder, { signal, onProgress }).catch(
          (error: unknown): Work => {
            if (signal.aborted) return retry("It was told to end.");
            throw error;
          },
        );
        stop();
        if (reports.end === "gone") return { kind: "gone" };
        if (reports.end !== null) return finish(options, job, { kind: "must_end" });
        if (context.signal.aborted) return { kind: "retry", error: "It was told to end." };
        if (work.kind === "rendered") return store(options, job, work, context);
        if (work.kind === "failed") return finish(options, job, work);
        return job.attempts >= MAX_ATTEMPTS
          ? finish(options, job, failed(work.code))
          : { kind: "retry", error: work.error };
      });
    } finally {
      stop();
    }
  };
