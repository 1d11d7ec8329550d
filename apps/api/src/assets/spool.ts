/**
 * The folder of files that are being uploaded. A file goes to the store only after it is complete on the local disk:
 * its size is not known before, and a refused file never reaches the store.
 */
import { randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Problem } from "@realtime-avatar/domain/problem";

export type SpoolFile = {
  path: string;
  /** Appends the bytes. Throws the problem `unavailable` when the disk has no room. */
  append(bytes: Uint8Array): Promise<void>;
};

export type Spool = {
  /** Runs `work` with a new, empty file, and removes the file afterwards. */
  withFile<Result>(work: (file: SpoolFile) => Promise<Result>): Promise<Result>;
  /** Removes files that were not written to since `before`: they belong to killed processes. */
  sweep(before: Date): Promise<number>;
};

/** Errors of the system that mean a full disk: no room, a full quota of a user, or a file system that is too small. */
const FULL = ["ENOSPC", "EDQUOT", "EFBIG"];

const unlessFull = (error: unknown): never => {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (!FULL.includes(code)) throw error;
  throw new Problem(
    "unavailable",
    "The server has no room for the file at present.",
    { retryable: true },
    { cause: error },
  );
};

const append = async (handle: FileHandle, bytes: Uint8Array): Promise<void> => {
  for (let written = 0; written < bytes.byteLength; ) {
    const { bytesWritten } = await handle.write(bytes, written).catch(unlessFull);
    written += bytesWritten;
  }
};

/** A spool in `folder`, which is created on first use. Files have the mode 0600. */
export const createSpool = (folder: string): Spool => ({
  withFile: async (work) => {
    const path = join(folder, randomBytes(16).toString("hex"));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const handle = await open(path, "wx", 0o600).catch(unlessFull);
    try {
      return await work({ path, append: (bytes) => append(handle, bytes) });
    } finally {
      await handle.close();
      await rm(path, { force: true });
    }
  },
  sweep: async (before) => {
    let removed = 0;
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name);
      const { mtime } = await stat(path).catch(() => ({ mtime: new Date() }));
      if (mtime >= before) continue;
      await rm(path, { force: true });
      removed++;
    }
    return removed;
  },
});
