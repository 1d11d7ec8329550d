/** Whether the data directory can be used, before anything writes to it. */
import { randomBytes } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createFolder } from "@realtime-avatar/storage/disk/files";

const REASONS: Record<string, string> = {
  EEXIST: "it is a file",
  ENOTDIR: "it, or a folder above it, is a file",
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "its file system is read-only",
  ENOSPC: "its disk is full",
  EDQUOT: "its disk quota is used up",
};

/** Error codes of a read-only data directory, which is enough for a service with a PostgreSQL and an S3. */
export const NOT_WRITABLE: readonly (string | null)[] = ["EACCES", "EPERM", "EROFS", "ENOSPC", "EDQUOT"];

type DataConfig = {
  database: { databaseUrl: string | null; dataDirectory: string };
  storage?: { kind: "disk" | "s3" };
};

/**
 * Creates the data directory and writes to it. Throws an error that says what to change. For a service with a
 * PostgreSQL and an S3, a read-only directory is enough.
 */
export const checkDataDirectory = async ({ database, storage }: DataConfig): Promise<void> => {
  const mustBeWritable = database.databaseUrl === null || storage?.kind === "disk";
  const folder = resolve(database.dataDirectory);
  const file = join(folder, `.check-${randomBytes(6).toString("hex")}`);
  try {
    await createFolder(folder, 0o755);
    // The file has content, because a full disk accepts an empty file.
    await writeFile(file, "writable\n", { mode: 0o600, flag: "wx" });
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    if (!mustBeWritable && NOT_WRITABLE.includes(code)) return;
    const reason = `${REASONS[code] ?? "it cannot be created"} (${code})`;
    throw new Error(
      `DATA_DIR cannot be used: ${folder}: ${reason}. Set DATA_DIR to a folder that this user can write to.`,
    );
  } finally {
    await rm(file, { force: true }).catch(() => {});
  }
};
