/** A child that misbehaves, for tests of the sandbox: `bun probe.testing.ts '<task>' <behavior>`. */
import { dlopen, type Pointer, read } from "bun:ffi";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { EXECUTE, filterSystemCalls, REFUSED } from "./system-calls.ts";
import { leaveRoot } from "./user.ts";

const [, , , behavior = "", argument = ""] = process.argv;

const say = (value: unknown) => writeFileSync(1, JSON.stringify(value));
const errorCode = (action: () => unknown): string => {
  try {
    action();
    return "done";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
};
/** Reports the environment on standard error, because standard output is for the report. */
const tell = (value: unknown): never => {
  writeFileSync(2, JSON.stringify(value));
  process.exit(3);
};

/** The result of each system call that is refused to children, without arguments: the number of an error, or 0. */
const systemCallErrors = (): Record<string, number> => {
  const { symbols } = dlopen("libc.so.6", {
    syscall: { args: ["i64", "u64", "u64", "u64", "u64"], returns: "i64" },
    __errno_location: { args: [], returns: "ptr" },
  });
  const errno = symbols.__errno_location() as Pointer;
  const column = process.arch === "x64" ? 0 : 1;
  const errors: Record<string, number> = {};
  for (const [name, numbers] of Object.entries({ ...REFUSED, ...EXECUTE })) {
    const number = numbers[column];
    if (number !== null) errors[name] = Number(symbols.syscall(number, 0, 0, 0, 0)) === -1 ? read.i32(errno) : 0;
  }
  return errors;
};

const status = () => readFileSync("/proc/self/status", "utf8");

const BEHAVIORS: Record<string, () => unknown> = {
  tell: () =>
    tell({
      environment: Object.keys(process.env).sort(),
      cwd: process.cwd(),
      input: readFileSync(0, "utf8"),
      limits: readFileSync("/proc/self/limits", "utf8"),
    }),
  // The attempts of a child that was taken over.
  escape: () => {
    filterSystemCalls({ mayExecute: false });
    tell({
      start: errorCode(() => Bun.spawnSync(["true"])),
      signal: errorCode(() => process.kill(process.ppid, 0)),
      signalToItself: errorCode(() => process.kill(process.pid, 0)),
      errors: systemCallErrors(),
    });
  },
  // A core file, or another large file.
  large: () => tell(errorCode(() => writeFileSync("large", Buffer.alloc(64 * 1024 * 1024)))),
  connect: () => {
    const socket = connect(Number(argument), "127.0.0.1");
    socket.on("connect", () => tell("connected"));
    socket.on("error", (error: NodeJS.ErrnoException) => tell(error.code));
  },
  user: () => {
    leaveRoot();
    tell({
      ids: [process.getuid?.(), process.getgid?.(), process.getgroups?.()],
      capabilities: /CapEff:\s+0{16}\n/.test(status()) ? "none" : "some",
      parent: errorCode(() => readFileSync(`/proc/${process.ppid}/environ`)),
      back: errorCode(() => process.setuid?.(0)),
    });
  },
  memory: () => {
    const kept: Uint8Array[] = [];
    for (;;) kept.push(new Uint8Array(16 * 1024 * 1024).fill(1));
  },
  objects: () => {
    const kept: object[] = [];
    for (;;) kept.push({ kept: [kept.length] });
  },
  spin: () => {
    for (;;);
  },
  // Catches the signal at the limit of processor time, like ffmpeg.
  spinAndCatch: () => {
    const { symbols } = dlopen("libc.so.6", { signal: { args: ["int", "ptr"], returns: "ptr" } });
    symbols.signal(24 /* SIGXCPU */, 1 as Pointer /* SIG_IGN */);
    for (;;);
  },
  threads: () => {
    const { symbols } = dlopen("libc.so.6", {
      dlsym: { args: ["ptr", "cstring"], returns: "ptr" },
      pthread_attr_init: { args: ["ptr"], returns: "int" },
      pthread_attr_setstacksize: { args: ["ptr", "u64"], returns: "int" },
      pthread_create: { args: ["ptr", "ptr", "ptr", "ptr"], returns: "int" },
    });
    const [thread, attributes] = [Buffer.alloc(8), Buffer.alloc(64)];
    symbols.pthread_attr_init(attributes);
    symbols.pthread_attr_setstacksize(attributes, 64 * 1024);
    const pause = symbols.dlsym(null, Buffer.from("pause\0") as never);
    for (let count = 0; count < Number(argument); count++) symbols.pthread_create(thread, attributes, pause, null);
    setTimeout(() => {}, 1e9);
  },
  sleep: () => setTimeout(() => {}, 1e9),
  userAndSleep: () => {
    leaveRoot();
    setTimeout(() => {}, 1e9);
  },
  crash: () => process.kill(process.pid, "SIGSEGV"),
  exit: () => process.exit(7),
  flood: () => {
    for (;;) writeFileSync(1, "x".repeat(65_536));
  },
  shout: () => {
    for (;;) writeFileSync(2, "x".repeat(65_536));
  },
  silent: () => {},
  garbage: () => writeFileSync(1, "not json"),
  lie: () => say({ kind: "accepted", width: 1e12, height: 1, publicWidth: 1, publicHeight: 1, publicBytes: 1 }),
  extra: () => say({ kind: "refused", code: "not_decodable", detail: "x", html: "<script>" }),
  unknown: () => say({ kind: "refused", code: "x", detail: "x" }),
  // Leaves a process behind that keeps the pipes open.
  linger: () => {
    // The process is not one of Bun, which must read the folder of its process: only the child itself may do that.
    const child = Bun.spawn(["sleep", "1000000"], {
      stdio: ["ignore", "inherit", "inherit"],
      env: { PATH: "/usr/bin:/bin" },
    });
    tell(child.pid);
  },
};

BEHAVIORS[behavior]?.();
