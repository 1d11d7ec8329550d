/**
 * The sweep of stored files that nothing needs. Bytes are written before their row, so a process that ends in between leaves
 * a file without a row. A file that is old enough for its folder is removed if its asset does not exist, has failed or
 * was deleted, or if its avatar or recording no longer needs it.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Databases } from "@realtime-avatar/db/databases/databases";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { Storage, StoredFile } from "@realtime-avatar/storage/storage";
import { FOLDERS, type Folder, keyTenant } from "./folders.ts";

/** How many files one step examines, with one list of the store and one statement. */
const STEP_FILES = 500;
/** The pause after a step and after a deletion, so that a pass makes a few requests a second at most. */
const STEP_PAUSE_MS = 500;
const DELETE_PAUSE_MS = 100;
/**
 * A step with at least this many old files, most of them without a row, removes nothing, because the store may belong
 * to another database.
 */
const SUSPICIOUS_FILES = 100;

/** The keys of the files that are old enough and belong to this service. */
const candidatesOf = ({ hasKey, minAgeMs }: Folder, files: readonly StoredFile[], now: Date): string[] =>
  files
    .filter(({ key, modifiedAt }) => hasKey(key) && now.getTime() - modifiedAt.getTime() >= minAgeMs)
    .map(({ key }) => key);

export type ObjectSweepOptions = {
  databases: Databases;
  storage: Storage;
  log: Logger;
  /** The factor of all pauses; 0 in tests. */
  pauseScale?: number;
  stepFiles?: number;
  now?: () => Date;
};

/**
 * Creates a function that runs one pass, in steps, and returns the number of removed files. After a failed or aborted
 * pass, the next call resumes at the step that was not completed.
 */
export const createObjectSweep = (options: ObjectSweepOptions): ((signal: AbortSignal) => Promise<number>) => {
  const { databases, storage, log, pauseScale = 1, stepFiles = STEP_FILES, now = () => new Date() } = options;
  /** The start of the next step: a folder, and the last examined key. */
  let next: { folder: number; after: string | undefined } = { folder: 0, after: undefined };

  /** Removes the unneeded candidates. */
  const remove = async (folder: Folder, candidates: readonly string[], signal: AbortSignal): Promise<number> => {
    if (candidates.length === 0) return 0;
    // A database that does not respond fails the step, because the files that it needs are unknown.
    const byDatabase = Map.groupBy(candidates, (key) => databases.ofTenant(keyTenant(key)));
    const known = databases.all();
    // Files of a tenant whose database this process does not know are kept, because the database may be new.
    const sorted = await Promise.all(
      [...byDatabase].map(([db, keys]) =>
        known.includes(db) ? folder.sort(db, keys) : { unused: [], unknown: keys.length },
      ),
    );
    const unused = sorted.flatMap((one) => one.unused);
    const unknown = sorted.reduce((sum, one) => sum + one.unknown, 0);
    if (candidates.length >= SUSPICIOUS_FILES && 2 * unknown > candidates.length) {
      log.error(
        { files: candidates.length, withoutRow: unknown },
        "most stored files belong to nothing in this database; none is removed: is STORAGE_URL that of this database?",
      );
      return 0;
    }
    for (const key of unused) {
      await storage.delete(key);
      await pause(DELETE_PAUSE_MS * pauseScale, undefined, { signal });
    }
    return unused.length;
  };

  return async (signal) => {
    let removed = 0;
    for (; next.folder < FOLDERS.length; next = { folder: next.folder + 1, after: undefined }) {
      const folder = FOLDERS[next.folder] as Folder;
      for (;;) {
        signal.throwIfAborted();
        const files = await Array.fromAsync(storage.list(`${folder.name}/`, next.after, stepFiles));
        removed += await remove(folder, candidatesOf(folder, files, now()), signal);
        const last = files.at(-1);
        if (last === undefined || files.length < stepFiles) break;
        next = { ...next, after: last.key };
        await pause(STEP_PAUSE_MS * pauseScale, undefined, { signal });
      }
    }
    next = { folder: 0, after: undefined };
    return removed;
  };
};
