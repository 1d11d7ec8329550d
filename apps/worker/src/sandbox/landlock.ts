/**
 * Confines a process to the files that it needs, by Landlock. Without it, a child that a hostile file has taken over
 * could open every file of its user by its path: the embedded database, `session-secret`, the files of other tenants.
 * Landlock also denies the child the memory of each process that is not confined with it.
 * https://docs.kernel.org/userspace-api/landlock.html
 *
 * Landlock confines the calling thread and the processes that it starts, but not other existing threads. So a process
 * confines itself and then becomes the program by `execve`, which ends the other threads (`program.ts`).
 */
import { dlopen, type Pointer, ptr, read } from "bun:ffi";
import { closeSync, fstatSync, openSync } from "node:fs";

/** The files that a program may open. Missing files are ignored. All other files are refused. */
export type FileAccess = {
  /** Files and folders to read and to execute. */
  programs: readonly string[];
  /** Folders in which names may be listed. */
  listed: readonly string[];
  /** Files and folders to read. */
  inputs: readonly string[];
  /** Files to read and to write. */
  devices: readonly string[];
  /** A folder in which files and folders may be created, changed and removed. */
  folder: string;
  /** Open files that may be opened again by their path. */
  descriptors: readonly number[];
};

// linux/landlock.h
const EXECUTE = 1n << 0n;
const WRITE_FILE = 1n << 1n;
const READ_FILE = 1n << 2n;
const READ_DIR = 1n << 3n;
const REMOVE_DIR = 1n << 4n;
const REMOVE_FILE = 1n << 5n;
const MAKE_DIR = 1n << 7n;
const MAKE_REG = 1n << 8n;
const TRUNCATE = 1n << 14n;
const IOCTL_DEV = 1n << 15n;
/** The rights that a rule of a file can have. */
const OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

const READ = READ_FILE | READ_DIR;
const CHANGE = READ | WRITE_FILE | TRUNCATE | MAKE_REG | MAKE_DIR | REMOVE_FILE | REMOVE_DIR;

/** The rights of files that each version (ABI) of Landlock can refuse: the number of the lowest bits. */
const FILE_RIGHTS: readonly (readonly [version: number, bits: bigint])[] = [
  [5, 16n], // IOCTL_DEV
  [3, 15n], // TRUNCATE
  [2, 14n], // REFER: move files between folders. The first version always refuses that.
  [1, 13n],
];
const NETWORK_VERSION = 4;
/** Listen and connect, by TCP. */
const NETWORK_RIGHTS = 0b11n;
const SCOPE_VERSION = 6;
/** Abstract sockets and signals of processes that are not confined with this one. */
const SCOPES = 0b11n;

/**
 * `struct landlock_ruleset_attr`: the rights that are refused unless a rule allows them. Older kernels know fewer
 * fields.
 */
const refusedBy = (version: number): BigUint64Array => {
  const [, bits = 13n] = FILE_RIGHTS.find(([since]) => version >= since) ?? [];
  const files = (1n << bits) - 1n;
  if (version >= SCOPE_VERSION) return BigUint64Array.of(files, NETWORK_RIGHTS, SCOPES);
  return version >= NETWORK_VERSION ? BigUint64Array.of(files, NETWORK_RIGHTS) : BigUint64Array.of(files);
};

/** The numbers of asm/unistd_64.h and asm-generic/unistd.h: they are the same on every architecture. */
export const LANDLOCK = { landlock_create_ruleset: 444, landlock_add_rule: 445, landlock_restrict_self: 446 } as const;
const CREATE_RULESET_VERSION = 1;
const RULE_PATH_BENEATH = 1;
const PR_SET_NO_NEW_PRIVS = 38;
const O_PATH = 0x200000;
const O_CLOEXEC = 0x80000;

/** The errors of a kernel without Landlock, or with Landlock disabled. */
const UNKNOWN: readonly number[] = [38 /* ENOSYS */, 95 /* EOPNOTSUPP */];

const loadLibc = () =>
  dlopen("libc.so.6", {
    prctl: { args: ["int", "u64", "u64", "u64", "u64"], returns: "int" },
    syscall: { args: ["i64", "u64", "u64", "u64", "u64"], returns: "i64" },
    __errno_location: { args: [], returns: "ptr" },
  }).symbols;
type Libc = ReturnType<typeof loadLibc>;

/** The result of a system call. Throws when it fails. */
const call = (
  libc: Libc,
  name: keyof typeof LANDLOCK,
  ...[first, second, third, fourth]: (number | bigint)[]
): number => {
  const result = Number(libc.syscall(LANDLOCK[name], first ?? 0, second ?? 0, third ?? 0, fourth ?? 0));
  if (result >= 0) return result;
  const errno = read.i32(libc.__errno_location() as Pointer);
  throw Object.assign(new Error(`The files of a child cannot be confined: ${name} fails with error ${errno}.`), {
    errno,
  });
};

/** The version of Landlock in this kernel; 0 without Landlock. Throws when it exists but may not be used. */
const versionOf = (libc: Libc): number => {
  try {
    return call(libc, "landlock_create_ruleset", 0, 0, CREATE_RULESET_VERSION);
  } catch (error) {
    if (UNKNOWN.includes((error as { errno: number }).errno)) return 0;
    throw error;
  }
};

/**
 * The version of Landlock on this machine; 0 without Landlock. Only Linux can have it. Throws when it exists but may
 * not be used.
 */
export const landlockVersion = (): number => (process.platform === "linux" ? versionOf(loadLibc()) : 0);

/** Allows `rights` of an open file, or of an open folder and all in it. */
const allow = (libc: Libc, ruleset: number, descriptor: number, rights: bigint): void => {
  // `struct landlock_path_beneath_attr`, which is packed.
  const rule = Buffer.alloc(12);
  rule.writeBigUInt64LE(fstatSync(descriptor).isDirectory() ? rights : rights & OF_FILES, 0);
  rule.writeInt32LE(descriptor, 8);
  call(libc, "landlock_add_rule", ruleset, RULE_PATH_BENEATH, ptr(rule), 0);
};

/** Opens a path only for a rule, which needs no right to read it; `null` if the path does not exist. */
const openPath = (path: string): number | null => {
  try {
    return openSync(path, O_PATH | O_CLOEXEC);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES") return null;
    throw error;
  }
};

/**
 * Confines this thread, and the program that it becomes, to `access`. This cannot be undone. Does nothing when the
 * kernel has no Landlock. Throws when the kernel has Landlock but the call fails.
 */
export const confineFiles = ({ programs, listed, inputs, devices, folder, descriptors }: FileAccess): void => {
  const libc = loadLibc();
  const version = versionOf(libc);
  if (version === 0) return;
  const refused = refusedBy(version);
  const [known = 0n] = refused;
  const ruleset = call(libc, "landlock_create_ruleset", ptr(refused), refused.byteLength, 0);
  const allowed: [paths: readonly string[], rights: bigint][] = [
    [programs, READ | EXECUTE],
    [listed, READ_DIR],
    [inputs, READ],
    [devices, READ_FILE | WRITE_FILE],
    [[folder], CHANGE],
  ];
  for (const [paths, rights] of allowed) {
    for (const path of paths) {
      const descriptor = openPath(path);
      if (descriptor === null) continue;
      allow(libc, ruleset, descriptor, rights & known);
      closeSync(descriptor);
    }
  }
  for (const descriptor of descriptors) allow(libc, ruleset, descriptor, READ_FILE);
  if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) !== 0) throw new Error("A child cannot give up new privileges.");
  call(libc, "landlock_restrict_self", ruleset, 0);
  closeSync(ruleset);
};
