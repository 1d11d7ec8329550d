/**
 * The job `process_asset`: takes the file of an asset from the store, or fetches it from its URL, inspects it in the
 * sandbox, and writes the public image. The order of the writes is: the original, the public file, the row. So a
 * `ready` asset has its files. An attempt that ends early leaves files that the next attempt writes again.
 */
import { join } from "node:path";
import { existingAssets } from "@realtime-avatar/db/assets/assets";
import { type AssetResult, finishAsset, startAsset } from "@realtime-avatar/db/assets/processing";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { ClaimedJob } from "@realtime-avatar/db/jobs/jobs";
import { type AssetRecord, originalKey, publicKey } from "@realtime-avatar/domain/assets/asset";
import type { AssetErrorCode } from "@realtime-avatar/domain/assets/errors";
import { ASSET_LIMITS, inMib, MAKE_SMALLER } from "@realtime-avatar/domain/assets/limits";
import { detectContentType, type Magic } from "@realtime-avatar/domain/assets/magic";
import { describeRefusedType } from "@realtime-avatar/domain/assets/refused-type";
import { newRequestId, type RandomBytes } from "@realtime-avatar/domain/id";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { Storage } from "@realtime-avatar/storage/storage";
import { type JobContext, type JobHandler, type JobOutcome, MAX_ATTEMPTS } from "../jobs/handler.ts";
import { errorText } from "../jobs/run-job.ts";
import { copyStored, type LocalFile, MISSING_FILE, readFirstBytes } from "../jobs/stored-copy.ts";
import type { TemporaryFolders } from "../jobs/temporary-folders.ts";
import type { fetchRemote } from "../remote/fetch.ts";
import { importAdvice } from "./import-advice.ts";
import type { Inspect } from "./inspect.ts";

export type ProcessOptions = {
  db: Db;
  storage: Storage;
  log: Logger;
  random: RandomBytes;
  fetchRemote: typeof fetchRemote;
  inspect: Inspect;
  temporary: TemporaryFolders;
};

type Failed = Extract<AssetResult, { kind: "failed" }>;
type Retry = Extract<JobOutcome, { kind: "retry" }>;

const failed = (code: AssetErrorCode, detail: string): Failed => ({ kind: "failed", code, detail });

/** Fetches the file of a remote asset to `path`. An unreachable host fails the asset only after the last attempt. */
const fetchFile = async (
  options: ProcessOptions,
  asset: AssetRecord,
  remoteUrl: string,
  path: string,
  isLastAttempt: boolean,
  signal: AbortSignal,
): Promise<LocalFile | Failed | Retry> => {
  const { maxBytes } = ASSET_LIMITS[asset.kind];
  const outcome = await options.fetchRemote(remoteUrl, { path, maxBytes, signal });
  if (outcome.kind === "fetched") return { ...outcome, kind: "file" };
  if (outcome.kind === "refused" || (isLastAttempt && !signal.aborted)) {
    return failed(outcome.code, `${outcome.detail} ${importAdvice(outcome, asset.kind)}`);
  }
  return { kind: "retry", error: outcome.detail };
};

/** The reason why a file cannot be the file of the asset; null when it may be, before it is decoded. */
const refusalOf = (asset: AssetRecord, { sizeBytes }: LocalFile, magic: Magic): Failed | null => {
  const { maxBytes } = ASSET_LIMITS[asset.kind];
  if (magic.kind !== asset.kind) {
    return failed(
      "asset_kind_mismatch",
      `The file is ${magic.contentType}, and the kind of the asset is ${asset.kind}. Create another asset, of the kind ${magic.kind}.`,
    );
  }
  if (sizeBytes > maxBytes) {
    const measured = `The file has ${inMib(sizeBytes)}; the limit is ${inMib(maxBytes)}.`;
    return failed("too_large", `${measured} ${MAKE_SMALLER[asset.kind]}`);
  }
  return null;
};

/** Processes the files of an asset, in `folder`. Returns the result for its row. */
const processFiles = async (
  options: ProcessOptions,
  job: ClaimedJob,
  asset: AssetRecord,
  folder: string,
  { signal, holdLease }: JobContext,
): Promise<AssetResult | Retry | { kind: "gone" }> => {
  const { storage, inspect } = options;
  const path = join(folder, "original");
  const isLastAttempt = job.attempts >= MAX_ATTEMPTS;
  // An earlier attempt may have fetched the file of a remote asset.
  const stored = await copyStored(storage, originalKey(asset), path, signal);
  if (stored === null && asset.remoteUrl === null) {
    return { kind: "retry", error: MISSING_FILE };
  }
  const file = stored ?? (await fetchFile(options, asset, asset.remoteUrl ?? "", path, isLastAttempt, signal));
  if (file.kind !== "file") return file;
  const firstBytes = await readFirstBytes(path);
  const magic = detectContentType(firstBytes);
  if (magic === null) return failed("unsupported_type", describeRefusedType(firstBytes, [asset.kind]));
  const refusal = refusalOf(asset, file, magic);
  if (refusal !== null) return refusal;
  const { contentType } = magic;
  // A worker that has lost its lease must not overwrite the file that the next one has fetched.
  if (stored === null) {
    if (!(await holdLease())) return { kind: "gone" };
    await storage.put(originalKey(asset), { path }, contentType);
  }
  const inspection = await inspect({ magic, path, folder }, signal);
  if (inspection.kind !== "accepted") return inspection;
  const { publicFile, durationMs } = inspection;
  if (publicFile !== null) {
    if (!(await holdLease())) return { kind: "gone" };
    await storage.put(publicKey(asset), { path: publicFile.path }, publicFile.contentType);
  }
  const { sizeBytes, sha256 } = file;
  return { kind: "ready", contentType, sizeBytes, sha256, publicType: publicFile?.contentType ?? null, durationMs };
};

/** Deletes the files of an asset that failed or was deleted. The sweep deletes files that cannot be deleted now. */
const removeFiles = async ({ storage, log }: ProcessOptions, asset: AssetRecord): Promise<void> => {
  for (const key of [originalKey(asset), publicKey(asset)]) {
    await storage
      .delete(key)
      .catch((error: unknown) => log.warn({ assetId: asset.id, error: errorText(error) }, "failed to delete a file"));
  }
};

/**
 * Ends the work on an asset that was deleted, or that belongs to another worker. Removes the files of a deleted asset,
 * because they may have been written after the deletion. Another worker needs them.
 */
const leave = async (options: ProcessOptions, asset: AssetRecord): Promise<JobOutcome> => {
  const existing = await existingAssets(options.db, [asset]);
  if (existing.length === 0) await removeFiles(options, asset);
  return { kind: "gone" };
};

const finish = async (
  options: ProcessOptions,
  job: ClaimedJob,
  asset: AssetRecord,
  result: AssetResult,
): Promise<JobOutcome> => {
  const { db, random } = options;
  const now = new Date();
  const origin = { actor: null, requestId: newRequestId(now, random), now, random };
  if ((await finishAsset(db, job, result, origin)) === "finished") {
    if (result.kind === "failed") await removeFiles(options, asset);
    return { kind: result.kind };
  }
  return leave(options, asset);
};

/** Creates the handler of `process_asset`. */
export const createProcessAsset =
  (options: ProcessOptions): JobHandler =>
  async (job, context) => {
    const asset = await startAsset(options.db, job);
    if (asset === null) return { kind: "gone" };
    return options.temporary.use(async (folder) => {
      const result = await processFiles(options, job, asset, folder, context);
      if (result.kind === "gone") return leave(options, asset);
      if (result.kind === "retry") return result;
      if (context.signal.aborted) return { kind: "retry", error: "It was told to end." };
      return finish(options, job, asset, result);
    });
  };
