/** Deletes stored files of recordings that nothing needs: fragments that are joined, and files that were deleted or have expired. */
import type { Runner } from "@realtime-avatar/db/connection/batch";
import {
  forgetUnneededFiles,
  listUnneededFiles,
  postponeUnneededFiles,
  type UnneededFile,
} from "@realtime-avatar/db/recordings/joining";
import type { Storage } from "@realtime-avatar/storage/storage";

/** Maximum number of concurrent deletions in the store. */
const AT_ONCE = 16;

type Parts = { db: Runner; storage: Pick<Storage, "delete"> };

/** Deletes files, and postpones those that the store cannot delete. Returns the first failure. */
const deleteSome = async (
  { db, storage }: Parts,
  files: readonly UnneededFile[],
): Promise<PromiseRejectedResult | undefined> => {
  const deletions = await Promise.allSettled(files.map(({ key }) => storage.delete(key)));
  const failed = files.filter((_, index) => deletions[index]?.status === "rejected");
  await forgetUnneededFiles(
    db,
    files.filter((file) => !failed.includes(file)),
  );
  if (failed.length > 0) await postponeUnneededFiles(db, failed);
  return deletions.find((deletion) => deletion.status === "rejected");
};

/**
 * Deletes all files whose deletion is due, and returns their number. `limit`: how many are looked up at once. A file that the store cannot
 * delete is tried again later: the first error is thrown after the other files.
 */
export const deleteUnneededFiles = async (parts: Parts, limit: number, signal: AbortSignal): Promise<number> => {
  // Files that are postponed are not due by this time.
  const startedAt = new Date();
  let failure: PromiseRejectedResult | undefined;
  for (let count = 0; ; ) {
    const files = await listUnneededFiles(parts.db, limit, startedAt);
    for (let at = 0; at < files.length; at += AT_ONCE) {
      signal.throwIfAborted();
      const failed = await deleteSome(parts, files.slice(at, at + AT_ONCE));
      failure ??= failed;
    }
    count += files.length;
    if (files.length === limit) continue;
    if (failure) throw failure.reason;
    return count;
  }
};
