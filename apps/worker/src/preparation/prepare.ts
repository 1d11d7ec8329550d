/**
 * The job `prepare_avatar`: checks the source of an avatar in the sandbox, and writes the prepared files. The order of
 * the writes is: the pictures, the manifest, the row. So a `ready` avatar has its files. An attempt that ends early
 * leaves files that the next attempt writes again, with the same names and bytes.
 *
 * The files of the last generations remain, because a call may have read their manifest a moment ago. The sweep removes
 * them later.
 */
import { join } from "node:path";
import {
  finishPreparation,
  KEPT_GENERATIONS,
  knownPreparations,
  type PreparationResult,
  type PreparationStart,
  startPreparation,
} from "@realtime-avatar/db/avatars/preparations";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { ClaimedJob } from "@realtime-avatar/db/jobs/jobs";
import { type AssetRecord, newPublicToken, originalKey } from "@realtime-avatar/domain/assets/asset";
import { detectContentType } from "@realtime-avatar/domain/assets/magic";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import type { Check } from "@realtime-avatar/domain/avatars/checks";
import { preparedKey } from "@realtime-avatar/domain/avatars/preparation";
import { MAX_ERROR_LENGTH } from "@realtime-avatar/domain/avatars/schemas";
import { type TestOutcome, testOutcome } from "@realtime-avatar/domain/avatars/test-assets";
import { newRequestId, type RandomBytes } from "@realtime-avatar/domain/id";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { Storage } from "@realtime-avatar/storage/storage";
import type { JobContext, JobHandler, JobOutcome } from "../jobs/handler.ts";
import { errorText } from "../jobs/run-job.ts";
import { copyStored, MISSING_FILE, readFirstBytes } from "../jobs/stored-copy.ts";
import type { TemporaryFolders } from "../jobs/temporary-folders.ts";
import type { CheckSource } from "./check-source.ts";
import { describeFailures } from "./checks.ts";
import type { ManifestContent } from "./manifest.ts";
import { PLACEHOLDER } from "./placeholder.ts";
import { testChecks } from "./test-checks.ts";
import { contentOfBytes, contentOfFile, type Written, writePrepared } from "./write.ts";

export type PrepareOptions = {
  db: Db;
  storage: Storage;
  log: Logger;
  random: RandomBytes;
  temporary: TemporaryFolders;
  checkSource: CheckSource;
};

type Started = Extract<PreparationStart, { kind: "started" }>;
type Failed = Extract<PreparationResult, { kind: "failed" }>;
type Retry = Extract<JobOutcome, { kind: "retry" }>;
/** The result of the work on a source: the written files, or the reason why none was written. */
type Work = { kind: "written"; checks: Check[]; written: Written } | Failed | Retry | { kind: "gone" };

const failed = (error: string, checks: Check[] = []): Failed => ({
  kind: "failed",
  error: [...error].slice(0, MAX_ERROR_LENGTH).join(""),
  checks,
});
const failedChecks = (checks: Check[]): Failed => failed(describeFailures(checks), checks);
const hasFailed = (checks: readonly Check[]): boolean => checks.some(({ verdict }) => verdict === "fail");

/** Writes the prepared files, unless the job was canceled or belongs to another worker. */
const write = async (
  { storage }: PrepareOptions,
  content: Omit<ManifestContent, "pictures" | "loop">,
  contents: Parameters<typeof writePrepared>[2],
  { signal, holdLease }: JobContext,
): Promise<Work> => {
  if (signal.aborted) return { kind: "retry", error: "It was told to end." };
  if (!(await holdLease())) return { kind: "gone" };
  return { kind: "written", checks: [...content.checks], written: await writePrepared(storage, content, contents) };
};

/** Produces the outcome of the test asset, without a file. */
const prepareTest = (
  options: PrepareOptions,
  { avatar, sourceAssetId }: Started,
  outcome: TestOutcome,
  context: JobContext,
): Promise<Work> | Work => {
  if (outcome.kind === "internal") return { kind: "retry", error: "The test asset says so.", isForced: true };
  const checks = testChecks(avatar.sourceKind, outcome);
  if (outcome.kind === "failed") return failedChecks(checks);
  const picture = contentOfBytes(PLACEHOLDER);
  const source = { assetId: sourceAssetId, sha256: null };
  return write(
    options,
    { avatar, source, checks, mesh: null },
    { normalized: picture, thumb: picture, animated: picture, loop: null },
    context,
  );
};

/** Checks the file of the source, in `folder`, and writes the derived files. */
const prepareFile = async (
  options: PrepareOptions,
  avatar: AvatarRecord,
  asset: AssetRecord,
  folder: string,
  context: JobContext,
): Promise<Work> => {
  const path = join(folder, "original");
  const file = await copyStored(options.storage, originalKey(asset), path, context.signal);
  if (file === null) return { kind: "retry", error: MISSING_FILE };
  const magic = detectContentType(await readFirstBytes(path));
  // The asset is ready, so its file was inspected once. Another file is a fault of the store.
  if (magic === null || file.sha256 !== asset.sha256) {
    return { kind: "retry", error: "The stored file is not the file of this asset." };
  }
  const checked = await options.checkSource({ magic, path, folder }, context.signal);
  if (checked.kind === "retry") return checked;
  const { checks, files } = checked;
  if (hasFailed(checks)) return failedChecks(checks);
  const contents = files && {
    normalized: await contentOfFile(files.normalized),
    thumb: await contentOfFile(files.thumb),
    animated: await contentOfFile(files.animated),
    loop: files.loop === null ? null : await contentOfFile(files.loop),
  };
  const source = { assetId: asset.id, sha256: file.sha256 };
  return write(options, { avatar, source, checks, mesh: files?.mesh ?? null }, contents, context);
};

const prepare = (options: PrepareOptions, start: Started, context: JobContext): Promise<Work> | Work => {
  const { avatar, asset, sourceAssetId } = start;
  if (asset !== null) {
    return options.temporary.use((folder) => prepareFile(options, avatar, asset, folder, context));
  }
  // The id of a test asset has a meaning only in the test environment.
  const outcome = avatar.environment === "test" ? testOutcome(sourceAssetId) : null;
  if (outcome !== null) return prepareTest(options, start, outcome, context);
  return failed("The source asset does not exist. Set `sourceAssetId` to another one.");
};

/** Deletes files. The sweep deletes what cannot be deleted now. */
const remove = async (
  { storage, log }: PrepareOptions,
  { id }: AvatarRecord,
  keys: readonly string[],
): Promise<void> => {
  for (const key of keys) {
    await storage
      .delete(key)
      .catch((error: unknown) => log.warn({ avatarId: id, error: errorText(error) }, "failed to delete a file"));
  }
};

/** Deletes files that no row names, unless another worker runs the same preparation and needs them. */
const removeUnneeded = async (options: PrepareOptions, avatar: AvatarRecord, { keys }: Written): Promise<void> => {
  if ((await knownPreparations(options.db, [avatar])).some(({ isNeeded }) => isNeeded)) return;
  await remove(options, avatar, keys);
};

/** The maximum number of files of an avatar that are examined. An avatar keeps fewer files. */
const OLDER_FILES = 200;

/**
 * Deletes the files of generations that no call reads any more. The sweep keeps every file for a day. Until then, an
 * avatar that is prepared again all the time would fill the store, because no quota counts these files.
 */
const removeOlder = async (options: PrepareOptions, avatar: AvatarRecord): Promise<void> => {
  const { db, storage, log } = options;
  const { tenantId, id, generation } = avatar;
  if (generation <= KEPT_GENERATIONS + 1) return;
  try {
    const folder = preparedKey(avatar, "");
    const files = (await Array.fromAsync(storage.list(folder, undefined, OLDER_FILES))).map(({ key }) => ({
      key,
      generation: Number(key.slice(folder.length).split("/")[0]),
    }));
    const older = [...new Set(files.map((file) => file.generation))].filter((other) => other < generation);
    const known = await knownPreparations(
      db,
      older.map((other) => ({ tenantId, id, generation: other })),
    );
    const unneeded = new Set(known.filter(({ isNeeded }) => !isNeeded).map((preparation) => preparation.generation));
    const keys = files.filter((file) => unneeded.has(file.generation)).map(({ key }) => key);
    await remove(options, avatar, keys);
  } catch (error) {
    log.warn({ avatarId: id, error: errorText(error) }, "failed to look for older files");
  }
};

const finish = async (
  options: PrepareOptions,
  job: ClaimedJob,
  avatar: AvatarRecord,
  work: Extract<Work, { kind: "written" | "failed" }>,
): Promise<JobOutcome> => {
  const { db, random } = options;
  const now = new Date();
  const origin = { actor: null, requestId: newRequestId(now, random), now, random };
  if (work.kind === "failed") {
    return (await finishPreparation(db, job, work, origin)) === "finished" ? { kind: "failed" } : { kind: "gone" };
  }
  const { checks, written } = work;
  const { cacheManifestId, previewFile } = written;
  // The URL does not change when the avatar is prepared anew.
  const previewToken = previewFile === null ? null : (avatar.previewToken ?? newPublicToken(random));
  const result = { kind: "ready", checks, cacheManifestId, previewToken, previewFile } as const;
  // This call checks whether the job still belongs to this worker, so no check is needed before.
  if ((await finishPreparation(db, job, result, origin)) === "finished") {
    await removeOlder(options, avatar);
    return { kind: "ready" };
  }
  await removeUnneeded(options, avatar, written);
  return { kind: "gone" };
};

const reasonOf = ({ avatar, detail }: Extract<PreparationStart, { kind: "asset_failed" }>): string =>
  (avatar.pendingSourceAssetId ?? avatar.sourceAssetId) === null ? detail : `The source asset has failed. ${detail}`;

/** Creates the handler of `prepare_avatar`. */
export const createPrepareAvatar =
  (options: PrepareOptions): JobHandler =>
  async (job, context) => {
    const start = await startPreparation(options.db, job);
    switch (start.kind) {
      case "waiting":
      case "gone":
        return { kind: start.kind };
      case "asset_failed":
        return finish(options, job, start.avatar, failed(reasonOf(start)));
      case "started": {
        const work = await prepare(options, start, context);
        if (work.kind === "gone" || work.kind === "retry") return work;
        if (context.signal.aborted) return { kind: "retry", error: "It was told to end." };
        return finish(options, job, start.avatar, work);
      }
    }
  };
