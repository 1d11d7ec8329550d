/**
 * What the operating system confines a child process with: limits of resources, the files that it may open (`landlock.ts`), no
 * network, and what the child gives up by itself before it opens a file (`system-calls.ts`, `user.ts`). The programs are those of
 * util-linux, which every Debian has. A container may forbid namespaces; then the filter of system calls alone keeps the child
 * from the network.
 */
import { tmpdir } from "node:os";
import { CHILD_VARIABLES, ownProgram, programCommand } from "./command.ts";
import { landlockVersion } from "./landlock.ts";
import type { Program } from "./program.ts";
import { canFilterSystemCalls } from "./system-calls.ts";
import { MAX_THREADS } from "./watch.ts";

export type Confinement = {
  /**
   * Prefixes the command of the child. `program`: by default, the worker's own. `descriptors`: how many open files it gets, beside
   * its standard ones.
   */
  wrap: (
    command: readonly string[],
    limits: ResourceLimits,
    options?: { program?: Program | undefined; descriptors?: number },
  ) => string[];
  /** What is confined and what is not, for the log. */
  description: { limits: boolean; namespaces: boolean; threads: boolean; systemCalls: boolean; files: boolean };
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
/**
 * The threads of all children together: the kernel counts those of a user, and all children of root have the same. There are at most
 * 64 in a worker. A child that has more than its share is ended by `watch.ts`, so that no other one gets none.
 */
const MAX_THREADS_OF_USER = 64 * MAX_THREADS;

const STANDARD_DESCRIPTORS = 3;

const limitsOf = ({ dataBytes, cpuSeconds, fileBytes }: ResourceLimits, hasOwnUser: boolean): string[] => [
  // Not the address space: JavaScriptCore reserves 6 GiB of it. It adapts to a limit of its data when it starts, so that limit
  // is set by a program before it: a process of Bun that sets it for itself aborts.
  `--data=${dataBytes}`,
  // First SIGXCPU, by which the parent knows the reason; a second later SIGKILL.
  `--cpu=${cpuSeconds}:${cpuSeconds + 1}`,
  `--fsize=${fileBytes}`,
  `--nofile=${MAX_OPEN_FILES}`,
  // A core dump would contain the file.
  "--core=0",
  ...(hasOwnUser ? [`--nproc=${MAX_THREADS_OF_USER}`] : []),
];

/** What a command says that fails here; `null` when it succeeds. */
const failureOf = async (command: readonly string[]): Promise<string | null> => {
  const options = { stdin: "ignore", stdout: "ignore", stderr: "pipe", env: CHILD_VARIABLES, cwd: tmpdir() } as const;
  const child = Bun.spawn([...command], options);
  const [code, text] = await Promise.all([child.exited, child.stderr.text()]);
  return code === 0 ? null : (/^error: (.*)$/m.exec(text)?.[1] ?? `${text.slice(-500)} (exit code ${code})`);
};

/** The prefix that takes the network away: as root directly, else in a user namespace. `null` without `unshare`. */
const findNamespaces = (isRoot: boolean): string[] | null => {
  const unshare = Bun.which("unshare");
  return unshare === null ? null : [unshare, ...(isRoot ? [] : ["--user", "--map-current-user"]), "--net", "--ipc"];
};

type ConfinementPrograms = { prlimit: string; namespaces: string[] | null };

const createConfinement = ({ prlimit, namespaces }: ConfinementPrograms, isRoot: boolean): Confinement => {
  // The limit counts the threads of a user. Without a user of its own, the child shares it with the worker.
  const hasOwnUser = isRoot || namespaces !== null;
  const own = ownProgram();
  return {
    // Each becomes the next one, so all of them are one process. The files are confined last: `unshare` writes to /proc.
    wrap: ([name, ...others], limits, { program = own, descriptors = 0 } = {}) => {
      const command = name === undefined ? [] : [Bun.which(name) ?? name, ...others];
      const launch = { program, descriptors: STANDARD_DESCRIPTORS + descriptors, parent: process.pid };
      // In a user namespace, the limit counts the threads of the namespace. Before it, it would count those of the worker's user.
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
 * Finds out what is possible here. On Linux it throws where a child cannot be limited or its system calls cannot be filtered, and
 * where the kernel can confine its files and does not: a file must not be opened then. Other systems, which are for development,
 * have the limits of `runInSandbox` only. `mayHaveNamespaces` false: as in a container that forbids them.
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
