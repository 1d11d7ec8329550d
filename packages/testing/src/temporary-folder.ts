/** Folders for the files of tests. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { readFileSync, statfsSync } from "node:fs";
import { chmod, mkdtemp } from "node:fs/promises";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";

/** The free memory, in bytes, that is required to keep temporary files in memory. One run needs a quarter of it. */
const NEEDED_MEMORY_BYTES = 4 * 2 ** 30;

/**
 * Whether Linux's file system in memory has room, and lets programs run. A cluster on it takes half the processor time
 * of one on a disk. The results of the tests do not depend on it, because they kill processes but do not cut the power.
 */
const canUseMemory = (): boolean => {
  if (process.platform !== "linux") return false;
  if (!/ \/dev\/shm tmpfs (?!\S*\bnoexec\b)\S*\brw\b/.test(readFileSync("/proc/mounts", "utf8"))) return false;
  const { bavail, bsize } = statfsSync("/dev/shm");
  return Math.min(bavail * bsize, freemem()) >= NEEDED_MEMORY_BYTES;
};

// Set also for the processes that the tests start. An existing TMPDIR takes precedence.
if (process.env["TMPDIR"] === undefined && canUseMemory()) process.env["TMPDIR"] = "/dev/shm";

/** Creates a folder that every user can enter: PostgreSQL may run as another user than the tests. */
export const temporaryFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-test-"));
  await chmod(folder, 0o755);
  return folder;
};

/** The references prevent the garbage collector from closing their pipes before this process ends. */
const removers = new Set<ChildProcess>();

/**
 * Removes a folder after this process has ended and the server of a cluster in it has stopped. Another process does
 * this, because a worker of `bun test --parallel` runs the `afterAll` of a preload after each file, and runs no hook
 * when it ends.
 */
export const removeAtEnd = (folder: string): void => {
  const script = `
    cat
    tries=0
    while [ -e "$1/data/postgres/postmaster.pid" ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
    rm -rf "$1"`;
  const options = { detached: true, cwd: "/", stdio: ["pipe", "ignore", "ignore"] } satisfies SpawnOptions;
  const remover = spawn("/bin/sh", ["-c", script, "remove-at-end", folder], options);
  remover.unref();
  removers.add(remover);
};
