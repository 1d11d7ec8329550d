/** The files of an asset in the store. The sweeper removes files that remain after a failure here. */
import { originalKey, publicKey, uploadKey } from "@realtime-avatar/domain/assets/asset";
import type { AssetId, TenantId } from "@realtime-avatar/domain/id";
import { Problem } from "@realtime-avatar/domain/problem";
import type { Storage } from "@realtime-avatar/storage/storage";

type Owned = { tenantId: TenantId; id: AssetId };

/** Deletes the files at these keys, best effort. */
const removeFiles = async (storage: Storage, keys: readonly string[]): Promise<void> => {
  await Promise.all(keys.map((key) => storage.delete(key).catch(() => {})));
};

/** Deletes all files of an asset, best effort. */
export const removeAllFiles = (storage: Storage, asset: Owned): Promise<void> =>
  removeFiles(storage, [originalKey(asset), uploadKey(asset), publicKey(asset)]);

/**
 * Runs the write of an asset whose file is already in the store. Deletes the file if the row cannot exist. The row
 * exists if `write` has called `keep`, and may exist after the problem `outcome_unknown`.
 */
export const removingUnlessKept = async <Result>(
  storage: Storage,
  asset: Owned,
  write: (keep: () => void) => Promise<Result>,
): Promise<Result> => {
  let isKept = false;
  try {
    return await write(() => {
      isKept = true;
    });
  } catch (error) {
    if (error instanceof Problem && error.code === "outcome_unknown") isKept = true;
    throw error;
  } finally {
    if (!isKept) await removeFiles(storage, [originalKey(asset)]);
  }
};
