/** The user of a child process, and the parent with which it ends. */
import { dlopen } from "bun:ffi";

/**
 * The user and the group of a child of root: ids that no account has, so that its processes and files belong to it alone.
 * The ids of accounts and of dynamic users of systemd end at 65519.
 */
export const SANDBOX_ID = 65_531;

const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;

/** Only on Linux. On other systems, a child outlives a killed worker. */
const loadLibc = () =>
  process.platform === "linux"
    ? dlopen("libc.so.6", {
        prctl: { args: ["int", "u64", "u64", "u64", "u64"], returns: "int" },
        getppid: { args: [], returns: "int" },
      }).symbols
    : null;

/**
 * Makes the kernel kill this process when its parent ends for any reason. This also holds for the program that this
 * process becomes, but not after a change of the user. The signal comes when the thread that has started this process
 * ends; the worker starts children in its main thread.
 */
export const endWith = (parent: number): void => {
  const libc = loadLibc();
  if (libc === null) return;
  if (libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) !== 0) throw new Error("A child cannot end with its parent.");
  // The parent may have ended before the call.
  if (libc.getppid() !== parent) process.kill(process.pid, "SIGKILL");
};

/** Gives up root permanently, in all threads. Throws when that is not possible. */
export const leaveRoot = (): void => {
  if (process.getuid?.() !== 0) return;
  // This process still ends with its parent, so this is the parent.
  const parent = loadLibc()?.getppid() ?? 0;
  process.setgroups?.([]);
  process.setgid?.(SANDBOX_ID);
  process.setuid?.(SANDBOX_ID);
  if (process.getuid() !== SANDBOX_ID || process.getgid?.() !== SANDBOX_ID) throw new Error("Cannot leave root.");
  // The kernel drops this setting when a process changes its user.
  endWith(parent);
};
