/** The commands of child processes: the running program, with an argument that is not for users. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Launch, Program } from "./program.ts";
import { foldersAbove, isCompiled, libraryFolder } from "./sharp.ts";

/** The first argument of a program that must inspect one file. The next one is the task. */
export const CHILD_ARGUMENT = "inspect-one-file";
/**
 * The first argument of a program that must confine itself and become another one. The next arguments are that program
 * and its command.
 */
export const PROGRAM_ARGUMENT = "become-a-program";

/** The variables of a child. */
export const CHILD_VARIABLES = {
  // Without this variable, libvips writes large images to a file.
  VIPS_DISC_THRESHOLD: "1g",
  BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0",
  // Without this variable, JavaScriptCore reserves 1 GiB for compiled code, which the memory limit refuses. It then
  // interprets WebAssembly, so that the search for faces takes 3 s of processor time instead of 0.8 s.
  BUN_JSC_jitMemoryReservationSize: String(64 * 2 ** 20),
  // The child ends before an optimized second compilation of WebAssembly pays off. Without it, the check of a portrait
  // takes 730 ms of processor time instead of 900 ms.
  BUN_JSC_useOMGJIT: "0",
};

// A bundle has this code in its `main.js` or beside it.
const isSource = import.meta.path.endsWith(".ts");

const ownCommand = (): string[] => {
  if (isCompiled()) return [process.execPath];
  const main = isSource ? join(import.meta.dir, "../main.ts") : join(import.meta.dir, "main.js");
  return [process.execPath, "--no-env-file", main];
};

/** The command that inspects one file. The task is its last argument. */
export const childCommand = (task: string): string[] => [...ownCommand(), CHILD_ARGUMENT, task];

/** A command that confines itself to the files of a program, and then becomes that program. */
export const programCommand = (launch: Launch, command: readonly string[]): string[] => [
  ...ownCommand(),
  PROGRAM_ARGUMENT,
  JSON.stringify(launch),
  ...command,
];

/**
 * The sources of the workspace: the code of each package and the files that locate it, without data that may be beside
 * them.
 */
const sourcesOf = (repository: string): string[] => {
  const packages = ["apps/worker", ...readdirSync(join(repository, "packages")).map((name) => join("packages", name))];
  const manifests = ["package.json", "tsconfig.json"];
  const names = packages.flatMap((name) => ["src", "node_modules", ...manifests].map((part) => join(name, part)));
  return [...manifests, ...names].map((name) => join(repository, name));
};

/** The files of a bundle, without the folders beside them, which may contain data. */
const filesOf = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [join(folder, entry.name)] : []));

/**
 * This program. Bun finds a package only if it can list the folder of `node_modules` and the folders below. So the
 * program can see the names of other files there, but not their content.
 */
export const ownProgram = (): Program => {
  const { execPath } = process;
  if (isCompiled()) return { paths: [execPath, libraryFolder()], listed: [], isForeign: false };
  const listed = foldersAbove(import.meta.dir).filter((folder) => existsSync(join(folder, "node_modules")));
  const code = isSource ? sourcesOf(join(import.meta.dir, "../../../..")) : filesOf(import.meta.dir);
  const packages = listed.map((folder) => join(folder, "node_modules"));
  return { paths: [execPath, ...code.filter((path) => existsSync(path)), ...packages], listed, isForeign: false };
};
