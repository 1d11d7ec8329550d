/**
 * Temporary folders of jobs. The name of each contains the id of its process, so that the next worker can remove the
 * folders of a killed one. Several workers may share the parent folder.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const PREFIX = "realtime-avatar-job-";
/** A folder of a process that cannot be looked up is removed after this time: a job may take ten minutes. */
const STALE_MS = 3_600_000;

export type TemporaryFolders = {
  /** Calls `work` with a new folder, of mode 0700, and removes it afterwards. */
  use<Result>(work: (folder: string) => Promise<Result>): Promise<Result>;
  /** Removes the folders of processes that have ended. Returns their number. */
  sweep(now: Date): Promise<number>;
};

/** The namespace of the process ids that this process sees, because another container may use the same ids. */
const pidNamespace = (): string => {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  } catch {
    return "0";
  }
};

/**
 * When a process started, in ticks since the start of the machine; "0" if the platform does not say it; null without
 * such a process.
 */
const startOf = (pid: number): string | null => {
  if (process.platform === "linux") {
    try {
      // The name of the program, in parentheses, may contain spaces.
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
      return fields[0] === "Z" ? null : (fields[19] ?? null);
    } catch {
      return null;
    }
  }
  try {
    process.kill(pid, 0);
    return "0";
  } catch {
    return null;
  }
};

/** Folders in `parent`, which is the system's folder for temporary files. */
export const createTemporaryFolders = (parent: string): TemporaryFolders => {
  const namespace = pidNamespace();
  const own = `${PREFIX}${namespace}-${process.pid}-${startOf(process.pid) ?? "0"}-`;

  const isLeft = async (name: string, now: Date): Promise<boolean> => {
    const [, inNamespace, pid, start] = /^(\d+)-(\d+)-(\d+)-/.exec(name.slice(PREFIX.length)) ?? [];
    const found = await lstat(join(parent, name)).catch(() => null);
    // Every user can create a name in the system's folder.
    if (pid === undefined || !found?.isDirectory() || found.uid !== process.getuid?.()) return false;
    if (inNamespace === namespace) return startOf(Number(pid)) !== start;
    return now.getTime() - found.mtimeMs > STALE_MS;
  };

  return {
    use: async (work) => {
      const folder = await mkdtemp(join(parent, own));
      try {
        return await work(folder);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    sweep: async (now) => {
      let removed = 0;
      for (const name of await readdir(parent)) {
        if (!name.startsWith(PREFIX) || name.startsWith(own) || !(await isLeft(name, now))) continue;
        await rm(join(parent, name), { recursive: true, force: true });
        removed++;
      }
      return removed;
    },
  };
};
