/**
 * A filter of system calls for a child process, by seccomp. With it, a child that a hostile file has taken over cannot
 * start processes, signal or read other processes, open sockets, or reach the parts of the kernel in which faults are
 * found most often. Unlike namespaces, a filter works in a container without privileges.
 *
 * It lists the refused calls instead of the allowed ones, because the needs of Bun and libc change with their versions.
 * Only root may do harm by calls that are not listed here.
 */
import { dlopen, type Pointer, ptr, read } from "bun:ffi";

type Architecture = "x64" | "arm64";

/** `AUDIT_ARCH_…` of linux/audit.h. */
const AUDIT_ARCHITECTURE = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;

/**
 * Refused to every child, with the numbers of asm/unistd_64.h and asm-generic/unistd.h. `null`: no such call exists.
 */
export const REFUSED: Record<string, readonly [x64: number, arm64: number | null]> = {
  // Processes. A process in a new session would not be killed with its group.
  fork: [57, null],
  vfork: [58, null],
  setsid: [112, 157],
  setpgid: [109, 154],
  // Other processes: the worker and other children have the same user.
  tkill: [200, 130],
  rt_sigqueueinfo: [129, 138],
  rt_tgsigqueueinfo: [297, 240],
  pidfd_open: [434, 434],
  pidfd_send_signal: [424, 424],
  pidfd_getfd: [438, 438],
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  kcmp: [312, 272],
  setpriority: [141, 140],
  ioprio_set: [251, 30],
  sched_setparam: [142, 118],
  sched_setscheduler: [144, 119],
  sched_setattr: [314, 274],
  sched_setaffinity: [203, 122],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
  // The network, and memory and messages that processes share.
  socket: [41, 198],
  // Each socket of a pair can be connected to another socket.
  socketpair: [53, 199],
  shmget: [29, 194],
  shmat: [30, 196],
  msgget: [68, 186],
  semget: [64, 190],
  mq_open: [240, 180],
  // Memory that is not counted by any limit.
  memfd_create: [319, 279],
  // Changes of properties of files by a path, which Landlock does not refuse: its documentation lists them as
  // limitations.
  chmod: [90, null],
  fchmod: [91, 52],
  fchmodat: [268, 53],
  fchmodat2: [452, 452],
  chown: [92, null],
  fchown: [93, 55],
  lchown: [94, null],
  fchownat: [260, 54],
  setxattr: [188, 5],
  lsetxattr: [189, 6],
  fsetxattr: [190, 7],
  setxattrat: [463, 463],
  removexattr: [197, 14],
  lremovexattr: [198, 15],
  fremovexattr: [199, 16],
  removexattrat: [466, 466],
  file_setattr: [469, 469],
  utime: [132, null],
  utimes: [235, null],
  futimesat: [261, null],
  utimensat: [280, 88],
  // Parts of the kernel that an inspection does not need.
  bpf: [321, 280],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  userfaultfd: [323, 282],
  perf_event_open: [298, 241],
  personality: [135, 92],
  modify_ldt: [154, null],
  vmsplice: [278, 75],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  // Namespaces give an ordinary user the calls of root, including mounts.
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
};
/** Refused unless the child is the program that starts another one. */
export const EXECUTE = { execve: [59, 221], execveat: [322, 281] } as const;
/** Allowed only for the process itself, which is their first argument. */
export const OWN_PROCESS = { kill: [62, 129], tgkill: [234, 131], prlimit64: [302, 261] } as const;
/**
 * Refused with these second arguments, which send a signal to a process when a descriptor is ready. linux/fcntl.h and
 * asm-generic/sockios.h.
 */
export const OWNER = { fcntl: [72, 25], ioctl: [16, 29] } as const;
const OWNER_ARGUMENTS = {
  fcntl: [8, 10, 15], // F_SETOWN, F_SETSIG, F_SETOWN_EX
  ioctl: [0x8901, 0x8902], // FIOSETOWN, SIOCSPGRP
} as const;
/** Allowed only for threads. */
export const CLONE = { clone: [56, 220], clone3: [435, 435] } as const;
const CLONE_THREAD = 0x10000;
/** x64 has all calls a second time, from here on. */
const X32 = 0x40000000;

const EPERM = 1;
const ENOSYS = 38;

// linux/bpf_common.h and linux/seccomp.h.
const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const IF_BITS = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const refuse = (errno: number): Instruction => [RETURN, 0, 0, 0x00050000 | errno];

/** `struct seccomp_data`: the offsets of the number, of the architecture and of the lower halves of two arguments. */
const NUMBER = 0;
const ARCHITECTURE = 4;
const FIRST_ARGUMENT = 16;
const SECOND_ARGUMENT = 24;

/** Code, instructions to skip if true and if false, value. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** The filter of a process with this id. The number of the call stays loaded until a call is recognized. */
const filterOf = (architecture: Architecture, pid: number, mayExecute: boolean): Instruction[] => {
  const column = architecture === "x64" ? 0 : 1;
  const numbers = (calls: Record<string, readonly (number | null)[]>): number[] =>
    Object.values(calls).flatMap((call) => call[column] ?? []);
  const refused = numbers(mayExecute ? REFUSED : { ...REFUSED, ...EXECUTE });
  return [
    [LOAD, 0, 0, ARCHITECTURE],
    [IF_EQUAL, 1, 0, AUDIT_ARCHITECTURE[architecture]],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, NUMBER],
    ...(architecture === "x64" ? ([[IF_AT_LEAST, 0, 1, X32], refuse(EPERM)] as const) : []),
    ...refused.flatMap((number): Instruction[] => [[IF_EQUAL, 0, 1, number], refuse(EPERM)]),
    // 0 means the process itself, or for `kill` its group, which contains only the child.
    ...numbers(OWN_PROCESS).flatMap((number): Instruction[] => [
      [IF_EQUAL, 0, 5, number],
      [LOAD, 0, 0, FIRST_ARGUMENT],
      [IF_EQUAL, 2, 0, 0],
      [IF_EQUAL, 1, 0, pid],
      refuse(EPERM),
      [RETURN, 0, 0, ALLOW],
    ]),
    ...Object.entries(OWNER).flatMap(([name, call]): Instruction[] => {
      const values = OWNER_ARGUMENTS[name as keyof typeof OWNER];
      return [
        [IF_EQUAL, 0, 2 * values.length + 2, call[column]],
        [LOAD, 0, 0, SECOND_ARGUMENT],
        ...values.flatMap((value): Instruction[] => [[IF_EQUAL, 0, 1, value], refuse(EPERM)]),
        [RETURN, 0, 0, ALLOW],
      ];
    }),
    // Threads, not processes.
    [IF_EQUAL, 0, 4, CLONE.clone[column]],
    [LOAD, 0, 0, FIRST_ARGUMENT],
    [IF_BITS, 1, 0, CLONE_THREAD],
    refuse(EPERM),
    [RETURN, 0, 0, ALLOW],
    // Its flags are in memory, which a filter cannot read. When this call does not exist, libc uses `clone`.
    [IF_EQUAL, 0, 1, CLONE.clone3[column]],
    refuse(ENOSYS),
    [RETURN, 0, 0, ALLOW],
  ];
};

/** `struct sock_filter[]` */
const encode = (filter: readonly Instruction[]): Buffer => {
  const bytes = Buffer.alloc(filter.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of filter.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  }
  return bytes;
};

const PR_SET_NO_NEW_PRIVS = 38;
const SECCOMP = { x64: 317, arm64: 277 } as const;
const SECCOMP_SET_MODE_FILTER = 1;
const SECCOMP_GET_ACTION_AVAIL = 2;
const SECCOMP_FILTER_FLAG_TSYNC = 1;

const loadLibc = () =>
  dlopen("libc.so.6", {
    prctl: { args: ["int", "u64", "u64", "u64", "u64"], returns: "int" },
    syscall: { args: ["i64", "u64", "u64", "ptr"], returns: "i64" },
    __errno_location: { args: [], returns: "ptr" },
  }).symbols;

/** The errors of a kernel that lacks this call or this action. Then no filter is installed. Any other error is thrown. */
const UNKNOWN: readonly number[] = [ENOSYS, 22 /* EINVAL */, 95 /* EOPNOTSUPP */];

/**
 * The architecture of this machine, if its kernel can filter system calls. Only Linux can. The kernel itself is asked,
 * because a service of systemd may see only the processes in /proc (`ProcSubset=pid`).
 */
const findArchitecture = (): Architecture | null => {
  const { platform, arch } = process;
  if (platform !== "linux" || (arch !== "x64" && arch !== "arm64")) return null;
  const libc = loadLibc();
  const errno = libc.__errno_location() as Pointer;
  const action = Uint32Array.of(KILL_PROCESS);
  const isThere = Number(libc.syscall(SECCOMP[arch], SECCOMP_GET_ACTION_AVAIL, 0, ptr(action))) === 0;
  return isThere || !UNKNOWN.includes(read.i32(errno)) ? arch : null;
};

/** Whether `filterSystemCalls` filters on this machine. */
export const canFilterSystemCalls = (): boolean => findArchitecture() !== null;

/**
 * Filters the system calls of all threads of this process from now on. This cannot be undone. `mayExecute`: whether the
 * process may become another program, which has the same filter. Throws if the kernel supports filters but the call
 * fails. Does nothing when the kernel does not support them.
 */
export const filterSystemCalls = ({ mayExecute }: { mayExecute: boolean }): void => {
  const architecture = findArchitecture();
  if (architecture === null) return;
  const symbols = loadLibc();
  const filter = encode(filterOf(architecture, process.pid, mayExecute));
  // `struct sock_fprog`: the number of instructions, and their address.
  const program = Buffer.alloc(16);
  program.writeUInt16LE(filter.length / 8, 0);
  program.writeBigUInt64LE(BigInt(ptr(filter)), 8);
  const isFiltered =
    symbols.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) === 0 &&
    Number(symbols.syscall(SECCOMP[architecture], SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, ptr(program))) ===
      0;
  if (!isFiltered) throw new Error("The system calls of the child cannot be filtered.");
};
