/** Files that are whole or absent after a crash: written under a temporary name, synced, renamed, and the folder synced. */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { chmod, copyFile, type FileHandle, link, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { StorageError } from "../storage.ts";

/** The error code of a failed system call, such as `ENOENT`; null for another error. */
export const errorCode = (error: unknown): string | null =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;

/** `EDQUOT` is a full quota of a user; `EFBIG` a file that is longer than the file system allows. */
const FULL = ["ENOSPC", "EDQUOT", "EFBIG"];

/** An error of the stream that is being stored. The caller gets the cause, which is not an error of the disk. */
export class SourceFailure extends Error {
  constructor(cause: unknown) {
    super("The source of a file failed.", { cause });
    this.name = "SourceFailure";
  }
}

/** The error that callers of the store see. Messages of the system contain paths, so only its code is kept. */
export const diskError = (error: unknown): unknown => {
  if (error instanceof SourceFailure) return error.cause;
  const code = errorCode(error);
  if (code === null) return error;
  if (FULL.includes(code)) return new StorageError("full", "The disk has no room for the file.");
  return new StorageError("unavailable", `The disk failed (${code}).`);
};

/** Null when the file does not exist. */
export const unlessMissing = <Value>(work: Promise<Value>): Promise<Value | null> =>
  work.catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  });

/** Makes renames into a folder and deletions from it durable. */
export const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

/**
 * Creates a folder, and those above it. The names of the created folders are durable when this resolves. If the name of
 * a folder were lost, its files would be lost too.
 */
export const createFolder = async (path: string, mode: number): Promise<void> => {
  const first = await mkdir(path, { recursive: true, mode });
  if (first === undefined) return;
  for (let folder = resolve(path); folder.length >= resolve(first).length; folder = dirname(folder)) {
    await syncFolder(dirname(folder)).catch((error: unknown) => {
      // This user may write to the folder but not list it.
      if (errorCode(error) !== "EACCES") throw error;
    });
  }
};

const temporaryName = (): string => randomBytes(16).toString("hex");

/** How a new file is filled. Its return value becomes the result; a rejection, or `keep: false`, leaves no file. */
export type Fill<Result> = (file: FileHandle) => Promise<{ keep: boolean; result: Result }>;

/**
 * Writes the file `name` of `folder`, replacing any other, through a temporary file that begins as a copy of `origin`,
 * if set. It is durable when this resolves.
 */
export const replaceFile = async <Result>(
  temporaryFolder: string,
  { folder, name }: { folder: string; name: string },
  origin: string | null,
  fill: Fill<Result>,
): Promise<Result> => {
  const temporary = join(temporaryFolder, temporaryName());
  try {
    if (origin !== null) {
      // A clone of the blocks where the file system can do that (XFS, Btrfs, APFS). The mode of the origin is copied too.
      await copyFile(origin, temporary, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      await chmod(temporary, 0o600);
    }
    const file = await open(temporary, origin === null ? "wx" : "r+", 0o600);
    let filled: Awaited<ReturnType<typeof fill>>;
    try {
      filled = await fill(file);
      if (filled.keep) await file.sync();
    } finally {
      await file.close();
    }
    if (filled.keep) {
      await rename(temporary, join(folder, name));
      await syncFolder(folder);
    }
    return filled.result;
  } finally {
    // After the rename, no temporary file exists.
    await rm(temporary, { force: true });
  }
};

/** Writes all of the bytes at an offset: one system call may write fewer. */
export const writeAll = async (file: FileHandle, bytes: Uint8Array, offset: number): Promise<void> => {
  for (let written = 0; written < bytes.byteLength; ) {
    const { bytesWritten } = await file.write(bytes, written, bytes.byteLength - written, offset + written);
    written += bytesWritten;
  }
};

/**
 * The text of a file. Creates the file with `text` if it does not exist. Processes that start together get the same
 * text: `link` fails for all except the first. The file is durable when this resolves, because sealed values cannot be
 * opened without it.
 */
export const writeOnce = async (temporaryFolder: string, path: string, text: string): Promise<string> => {
  const found = await unlessMissing(readFile(path, "utf8"));
  if (found !== null) return found;
  const temporary = join(temporaryFolder, temporaryName());
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(temporary, path).catch((error: unknown) => {
      if (errorCode(error) !== "EEXIST") throw error;
    });
    await syncFolder(dirname(path));
  } finally {
    await rm(temporary, { force: true });
  }
  return readFile(path, "utf8");
};
