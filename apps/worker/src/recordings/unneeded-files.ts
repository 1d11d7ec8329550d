/** Deletes stored files of recordings that nothing needs: fragments that are joined, and files that were deleted or have expired. */
import type { Runner } from "@realtime-avatar/db/connection/batch";
import { forgetUnneededFiles, listUnneededFiles } from "@realtime-avatar/db/recordings/joining";
import type { Storage } from "@realtime-avatar/storage/storage";

/** Deletions that the store does at once. */
const AT_ONCE = 16;

/** Deletes up to `limit` files, and returns how many. Throws when the store cannot delete one: it is tried again by the next call. */
export const deleteUnneededFiles = async (
  { db, storage }: { db: Runner; storage: Pick<Storage, "delete"> },
  limit: number,
  signal: AbortSignal,
): Promise<number> => {
  const files = await listUnneededFiles(db, limit);
  for (let at = 0; at < files.length; at += AT_ONCE) {
    signal.throwIfAborted();
    const some = files.slice(at, at + AT_ONCE);
    const deletions = await Promise.allSettled(some.map(({ key }) => storage.delete(key)));
    await forgetUnneededFiles(
      db,
      some.filter((_, index) => deletions[index]?.status === "fulfilled"),
    );
    const failed = deletions.find((deletion) => deletion.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
  return files.length;
};
