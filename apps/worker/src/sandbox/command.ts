/** The commands of child processes: the program that runs now, with an argument that is not for users. */
import { join } from "node:path";
import { isCompiled } from "./sharp.ts";

/** The first argument of a program that is to inspect one file. The next one is the task. */
export const CHILD_ARGUMENT = "inspect-one-file";
/** The first argument of a program that is to become another one. The next ones are its path and its arguments. */
export const PROGRAM_ARGUMENT = "become-a-program";

const ownCommand = (): string[] => {
  if (isCompiled()) return [process.execPath];
  // A bundle has this code in its `main.js` or beside it.
  const isSource = import.meta.path.endsWith(".ts");
  const main = isSource ? join(import.meta.dir, "../main.ts") : join(import.meta.dir, "main.js");
  return [process.execPath, "--no-env-file", main];
};

/** The command that inspects one file. The task is its last argument. */
export const childCommand = (task: string): string[] => [...ownCommand(), CHILD_ARGUMENT, task];

/** The command that gives up what a child must not have, and then runs a program that does not do that by itself. */
export const programCommand = (command: readonly string[]): string[] => [...ownCommand(), PROGRAM_ARGUMENT, ...command];
