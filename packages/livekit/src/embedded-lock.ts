/**
 * The lock on the LiveKit of a data directory: by SQLite, because the kernel releases it however the process ends, and because
 * Bun has nothing smaller. A process id in a file would be that of another process after a restart.
 */
import { Database, SQLiteError } from "bun:sqlite";
import { closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";

/** A look at the lock holds it for a moment. */
const BUSY_MS = 500;

const lockFile = (dataDirectory: string): string => join(dataDirectory, "livekit.lock");

/** Runs `statement` on the file. Returns the function that ends what it locks, or null when another process has the lock. */
const lockBy = (file: string, statement: string, busyMs: number): (() => void) | null => {
  const lock = new Database(file);
  try {
    lock.run(`pragma busy_timeout = ${busyMs}`);
    lock.run(statement);
    return () => lock.close();
  } catch (error) {
    lock.close();
    if (error instanceof SQLiteError && error.code === "SQLITE_BUSY") return null;
    throw error;
  }
};

/** Takes the lock. Returns the function that releases it, or null when another process holds it. */
export const takeLock = (dataDirectory: string): (() => void) | null => {
  const file = lockFile(dataDirectory);
  // Of this mode, so that no other user can hold it.
  closeSync(openSync(file, "a", 0o600));
  return lockBy(file, "begin exclusive", BUSY_MS);
};

/** Whether a process holds the lock. Throws when this user may not know. */
export const isLocked = (dataDirectory: string): boolean => {
  const file = lockFile(dataDirectory);
  if (!existsSync(file)) return false;
  const close = lockBy(file, "select count(*) from sqlite_master", 0);
  close?.();
  return close === null;
};
