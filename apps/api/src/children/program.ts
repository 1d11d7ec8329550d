/** Finds the programs that the API runs as child processes. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** The folder of the modules that a compiled program contains. */
const COMPILED = "/$bunfs/";

/**
 * The command of the worker, or of the avatar worker, of this release: its source beside the source of the API, its
 * bundle beside the bundle, or its compiled program in the folder of the compiled API. null when it is missing.
 * `folder`: the folder of this module. `executable`: the program that runs it.
 */
export const findProgram = (
  app: "worker" | "avatar-worker",
  folder: string = import.meta.dir,
  executable: string = process.execPath,
): string[] | null => {
  if (folder.startsWith(COMPILED)) {
    const program = join(dirname(executable), `realtime-avatar-${app}`);
    return existsSync(program) ? [program, "--child"] : null;
  }
  const files = [join(folder, `../../../${app}/src/main.ts`), join(folder, `../../${app}/dist/main.js`)];
  const file = files.find((path) => existsSync(path));
  // This process has already read the `.env` file, unless its command line forbids that.
  return file === undefined ? null : [executable, "--no-env-file", file, "--child"];
};
