/**
 * The confinement of a child process by the operating system: limits of resources, the files that it may open
 * (`landlock.ts`), no network, and the rights that the child itself gives up before it opens a file (`system-calls.ts`,
 * `user.ts`). The programs are those of util-linux, which every Debian has. A container may forbid namespaces; then
 * only the filter of system calls blocks the network.
 */
import { tmpdir } from "node:os";
import { CHILD_VARIABLES, ownProgram, programCommand } from "./command.ts";
import { landlockVersion } from "./landlock.ts";
import type { Program } from "./program.ts";
import { canFilterSystemCalls } from "./system-calls.ts";
import { MAX_THREADS } from "./watch.ts";

export type Confinement = {
  /**
   * Prefixes the command of the child. `program`: by default, the worker's own. `descriptors`: how many open files it
   * gets beside its standard ones.
   */
  wrap: (
    command: readonly string[],
    limits: ResourceLimits,
    options?: { program?: Program | undefined; descriptors?: number },
  ) => string[];
  /** The parts of the confinement that are active, for the log. */
  description: { limits: boolean; namespaces: boolean; threads: boolean; systemCalls: boolean; files: boolean };
};

export type ResourceLimits = {
  /** Bytes of memory that the child may have. This limit does not count the pages of its programs' files. */
  dataBytes: number;
  cpuSeconds: number;
  /** The largest file that it may write. */
  fileBytes: number;
};

/** Bun itself needs 30. */
const MAX_OPEN_FILES = 64;
/**
 * The threads of all children together. The kernel counts the threads of a user, and all children of root have the same
 * user. A worker has at most 64 children. `watch.ts` ends a child with more than its share, so that every child can get
 * threads.
 */
const MAX_THREADS_OF_USER = 64 * MAX_THREADS;

const STANDARD_DESCRIPTORS = 3;

const limitsOf = ({ dataBytes, cpuSeconds, fileBytes }: ResourceLimits, hasOwnUser: boolean): string[] => [
  // The limit is not on the address space, because JavaScriptCore reserves 6 GiB of it. JavaScriptCore adapts to a
  // limit of its data when it starts. So another program sets the limit before it: a process of Bun that sets the limit
  // for itself aborts.
  `--data=${dataBytes}`,
  // First SIGXCPU, which shows the parent the reason; a second later SIGKILL.
  `--cpu=${cpuSeconds}:${cpuSeconds + 1}`,
  `--fsize=${fileBytes}`,
  `--nofile=${MAX_OPEN_FILES}`,
  // A core dump would contain the file.
  "--core=0",
  ...(hasOwnUser ? [`--nproc=${MAX_THREADS_OF_USER}`] : []),
];

/** The message of a command that fails here; `null` when it succeeds. */
const failureOf = async (command: readonly string[]): Promise<string | null> => {
  const options = { stdin: "ignore", stdout: "ignore", stderr: "pipe", env: CHILD_VARIABLES, cwd: tmpdir() } as const;
  const child = Bun.spawn([...command], options);
  const [code, text] = await Promise.all([child.exited, child.stderr.text()]);
  return code === 0 ? null : (/^error: (.*)$/m.exec(text)?.[1] ?? `${text.slice(-500)} (exit code ${code})`);
};

/** The prefix that removes the network: as root directly, else in a user namespace. `null` without `unshare`. */
const findNamespaces = (isRoot: boolean): string[] | null => {
  const unshare = Bun.which("unshare");
  return unshare === null ? null : [unshare, ...(isRoot ? [] : ["--user", "--map-current-user"]), "--net", "--ipc"];
};

type ConfinementPrograms = { prlimit: string; namespaces: string[] | null };

const createConfinement = ({ prlimit, namespaces }: ConfinementPrograms, isRoot: boolean): Confinement => {
  // The limit counts the threads of a user. A child without its own user shares the limit with the worker.
  const hasOwnUser = isRoot || namespaces !== null;
  const own = ownProgram();
  return {
    // Each program becomes the next one, so all are one process. The files are confined last, because `unshare` writes
    // to /proc.
    wrap: ([name, ...others], limits, { program = own, descriptors = 0 } = {}) => {
      const command = name === undefined ? [] : [Bun.which(name) ?? name, ...others];
      const launch = { program, descriptors: STANDARD_DESCRIPTORS + descriptors, parent: process.pid };
      // Inside a user namespace, the limit counts the threads of the namespace. Outside, it would count those of the
      // worker's user.
      return [...(namespaces ?? []), prlimit, ...limitsOf(limits, hasOwnUser), ...programCommand(launch, command)];
    },
    description: {
      limits: true,
      namespaces: namespaces !== null,
      threads: hasOwnUser,
      systemCalls: true,
      files: landlockVersion() > 0,
    },
  };
};

const PROBE_LIMITS: ResourceLimits = { dataBytes: 2 ** 29 + 2 ** 28, cpuSeconds: 10, fileBytes: 2 ** 20 };

/**
 * Determines which confinement is possible here. On Linux it throws when a child cannot be limited, when its system
 * calls cannot be filtered, or when the kernel supports the confinement of files but it fails, because then a file must
 * not be opened. Other systems, which are for development, have only the limits of `runInSandbox`. `mayHaveNamespaces`
 * false: as in a container that forbids them.
 */
export const findConfinement = async ({ mayHaveNamespaces = true } = {}): Promise<Confinement> => {
  const isRoot = process.getuid?.() === 0;
  if (process.platform !== "linux") {
    const description = { limits: false, namespaces: false, threads: false, systemCalls: false, files: false };
    return { wrap: (command) => [...command], description };
  }
  const unsafe = (because: string) => new Error(`Files cannot be inspected safely: ${because}`);
  const prlimit = Bun.which("prlimit");
  if (prlimit === null) throw unsafe("there is no prlimit. Install util-linux.");
  if (!canFilterSystemCalls()) throw unsafe("the kernel cannot filter system calls (seccomp).");
  const namespaces = mayHaveNamespaces ? findNamespaces(isRoot) : null;
  let because = "";
  for (const prefix of namespaces === null ? [null] : [namespaces, null]) {
    const confinement = createConfinement({ prlimit, namespaces: prefix }, isRoot);
    const failure = await failureOf(confinement.wrap([], PROBE_LIMITS));
    if (failure === null) return confinement;
    because = failure;
  }
  throw unsafe(because);
};
