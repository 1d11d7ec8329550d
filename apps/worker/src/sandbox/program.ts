/** Runs a program that is not the worker's, ffmpeg, in place of this process. */
import { dlopen, ptr } from "bun:ffi";
import { filterSystemCalls } from "./system-calls.ts";
import { leaveRoot } from "./user.ts";

/** `char *const []`: pointers to texts that end with a zero byte, and a null pointer. */
const textsOf = (texts: readonly string[]): { pointers: BigUint64Array; kept: Buffer[] } => {
  const kept = texts.map((text) => Buffer.from(`${text}\0`));
  return { pointers: BigUint64Array.from([...kept.map((bytes) => BigInt(ptr(bytes))), 0n]), kept };
};

/**
 * Filters the system calls of this process, gives up root, and becomes the program of `command`, a path and its arguments. Its
 * open files, limits and variables stay. Throws if there is no such program.
 */
export const becomeProgram = (command: readonly string[]): never => {
  const { symbols } = dlopen("libc.so.6", {
    execve: { args: ["ptr", "ptr", "ptr"], returns: "int" },
  });
  filterSystemCalls({ mayExecute: true });
  leaveRoot();
  const program = textsOf(command);
  const environment = textsOf(Object.entries(process.env).map(([name, value]) => `${name}=${value}`));
  symbols.execve(ptr(program.kept[0] ?? Buffer.alloc(1)), ptr(program.pointers), ptr(environment.pointers));
  throw new Error("The program cannot be run.");
};
