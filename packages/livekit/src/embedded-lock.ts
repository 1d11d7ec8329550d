/**
 * The lock on the LiveKit of a data directory. It is a lock of SQLite, because the kernel releases it however the
 * process ends, and because Bun has no smaller kind of lock. A process id in a file could be that of another process
 * after a restart.
 */
import { Database, SQLiteError } from "bun:sqlite";
import { closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";

/** How long to wait for the lock. A check of the lock also holds it for a moment. */
const BUSY_MS = 500;

const lockFile = (dataDirectory: string): string => join(dataDirectory, "livekit.lock");

/** Runs `statement` on the file. Returns a function that ends the lock, or null when another process has the lock. */
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
  // With this mode, other users cannot take the lock.
  closeSync(openSync(file, "a", 0o600));
  return lockBy(file, "begin exclusive", BUSY_MS);
};

/** Whether a process holds the lock. Throws when this user may not read the file. */
export const isLocked = (dataDirectory: string): boolean => {
  const file = lockFile(dataDirectory);
  if (!existsSync(file)) return false;
  const close = lockBy(file, "select count(*) from sqlite_master", 0);
  close?.();
  return close === null;
};
