/**
 * Confines this process, and runs another program in its place. A confinement of files holds for a thread and for the
 * program that it becomes. So children that open a file are started by this program, and ffmpeg too.
 */
import { dlopen, ptr } from "bun:ffi";
import { fstatSync } from "node:fs";
import { confineFiles } from "./landlock.ts";
import { filterSystemCalls } from "./system-calls.ts";
import { endWith, leaveRoot } from "./user.ts";

export type Program = {
  /** The files and folders from which the program is read. */
  paths: readonly string[];
  /** Folders in which the program searches for its parts. It sees the names of all files in them. */
  listed: readonly string[];
  /** Whether it is another program than this one, which does not itself filter its system calls and give up root. */
  isForeign: boolean;
};

/** A program, how many open files it keeps (descriptors 0 and up), and the process that starts it. */
export type Launch = { program: Program; descriptors: number; parent: number };

/** Programs and libraries of the system. */
const SYSTEM = ["/usr", "/bin", "/lib", "/lib64"];
/** Files by which programs find their libraries, and devices that can only be read. */
const SYSTEM_FILES = ["/etc/ld.so.cache", "/dev/zero", "/dev/random", "/dev/urandom"];
/**
 * The files about the process itself. Bun needs the first one: libc finds the stack in it, and without it Bun aborts.
 */
const OWN_FILES = ["maps", "cgroup", "limits", "stat", "statm", "status"].map((name) => `/proc/self/${name}`);
const DEVICES = ["/dev/null"];
const INPUT = 0;

/** The exit code of a child that could not become its program. No such program uses this code. */
export const NOT_STARTED = 125;

/** `char *const []`: pointers to texts that end with a zero byte, and a null pointer. */
const textsOf = (texts: readonly string[]): { pointers: BigUint64Array; buffers: Buffer[] } => {
  const buffers = texts.map((text) => Buffer.from(`${text}\0`));
  return { pointers: BigUint64Array.from([...buffers.map((bytes) => BigInt(ptr(bytes))), 0n]), buffers };
};

const F_SETFD = 2;

const execute = (command: readonly string[], descriptors: number): never => {
  const { symbols: libc } = dlopen("libc.so.6", {
    execve: { args: ["ptr", "ptr", "ptr"], returns: "int" },
    fcntl: { args: ["int", "int", "int"], returns: "int" },
  });
  // Bun marks inherited descriptors, from 4 on, to be closed by `execve`.
  for (let descriptor = 0; descriptor < descriptors; descriptor++) libc.fcntl(descriptor, F_SETFD, 0);
  const program = textsOf(command);
  const environment = textsOf(Object.entries(process.env).map(([name, value]) => `${name}=${value}`));
  libc.execve(ptr(program.buffers[0] ?? Buffer.alloc(1)), ptr(program.pointers), ptr(environment.pointers));
  throw new Error("The program cannot be run.");
};

const become = ({ program, descriptors, parent }: Launch, command: readonly string[]): void => {
  endWith(parent);
  const { paths, listed, isForeign } = program;
  confineFiles({
    programs: [...SYSTEM, ...paths],
    listed,
    inputs: [...SYSTEM_FILES, ...OWN_FILES],
    devices: DEVICES,
    folder: ".",
    // ffmpeg opens its input by the path of the descriptor.
    descriptors: fstatSync(INPUT).isFile() ? [INPUT] : [],
  });
  if (isForeign) {
    filterSystemCalls({ mayExecute: true });
    leaveRoot();
  }
  if (command.length > 0) execute(command, descriptors);
};

/**
 * Confines this process to the files of a program, and becomes it by `command`, a path and its arguments. `launch` is
 * JSON. The folder and the variables are unchanged. Without a command it returns, which shows that all of this is
 * possible on this machine. Otherwise, or when no such program exists, it ends with `NOT_STARTED`.
 */
export const becomeProgram = (launch: string, command: readonly string[]): void => {
  try {
    become(JSON.parse(launch) as Launch, command);
  } catch (error) {
    process.stderr.write(`error: ${(error as Error).message}\n`);
    process.exit(NOT_STARTED);
  }
};
