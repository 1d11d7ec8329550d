/**
 * What the operating system confines a child process with: limits of resources, no network, and what the child gives up by itself
 * before it opens a file (`system-calls.ts`, `user.ts`). The programs are those of util-linux, which every Debian has. A container
 * may forbid namespaces; then the filter of system calls alone keeps the child from the network.
 */
import { canFilterSystemCalls } from "./system-calls.ts";

export type Confinement = {
  /** Prefixes the command of the child. */
  wrap: (command: readonly string[], limits: ResourceLimits) => string[];
  /** What is confined and what is not, for the log. */
  description: { limits: boolean; namespaces: boolean; threads: boolean; systemCalls: boolean };
};

export type ResourceLimits = {
  /** Bytes of memory that the child may have. The pages of its programs' files are not counted by this limit. */
  dataBytes: number;
  cpuSeconds: number;
  /** The largest file that it may write. */
  fileBytes: number;
};

/** Bun needs 30 for itself. */
const MAX_OPEN_FILES = 64;
/** Bun and libvips start 7 to 12 threads. The limit counts all threads of the user, and several children have the same. */
const MAX_THREADS = 256;

/** Whether a command runs and succeeds here. */
const succeeds = async (command: readonly string[]): Promise<boolean> => {
  const child = Bun.spawn([...command], { stdin: "ignore", stdout: "ignore", stderr: "ignore", env: {} });
  return (await child.exited) === 0;
};

/** The prefix that takes the network away: as root directly, else in a user namespace. `null` where that is forbidden. */
const findNamespaces = async (isRoot: boolean): Promise<string[] | null> => {
  const unshare = Bun.which("unshare");
  const aTrue = Bun.which("true");
  if (unshare === null || aTrue === null) return null;
  const prefix = [unshare, ...(isRoot ? [] : ["--user", "--map-current-user"]), "--net", "--ipc"];
  return (await succeeds([...prefix, aTrue])) ? prefix : null;
};

/**
 * Finds out what is possible here. On Linux it throws without `prlimit`: a file must not be opened without limits. Other
 * systems, which are for development, have the limits of `runInSandbox` only.
 */
export const findConfinement = async (): Promise<Confinement> => {
  const isRoot = process.getuid?.() === 0;
  if (process.platform !== "linux") {
    const description = { limits: false, namespaces: false, threads: false, systemCalls: false };
    return { wrap: (command) => [...command], description };
  }
  const prlimit = Bun.which("prlimit");
  if (prlimit === null) throw new Error("Files cannot be inspected safely: there is no prlimit. Install util-linux.");
  const namespaces = await findNamespaces(isRoot);
  // The limit counts the threads of a user. Without a user of its own, the child shares it with the worker.
  const hasOwnUser = isRoot || namespaces !== null;
  return {
    wrap: (command, { dataBytes, cpuSeconds, fileBytes }) => [
      prlimit,
      // Not the address space: JavaScriptCore reserves 6 GiB of it. It adapts to a limit of its data.
      `--data=${dataBytes}`,
      // First SIGXCPU, by which the parent knows the reason; a second later SIGKILL.
      `--cpu=${cpuSeconds}:${cpuSeconds + 1}`,
      `--fsize=${fileBytes}`,
      `--nofile=${MAX_OPEN_FILES}`,
      // A core dump would contain the file.
      "--core=0",
      ...(hasOwnUser ? [`--nproc=${MAX_THREADS}`] : []),
      ...(namespaces ?? []),
      ...command,
    ],
    description: {
      limits: true,
      namespaces: namespaces !== null,
      threads: hasOwnUser,
      systemCalls: canFilterSystemCalls(),
    },
  };
};
