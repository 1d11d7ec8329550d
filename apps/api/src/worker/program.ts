/** Where the worker's program is, for an API that runs it as a child process. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** The folder of the modules that a compiled program contains. */
const COMPILED = "/$bunfs/";

/**
 * The command of the worker that belongs to this API: its source beside the source of the API, its bundle beside the bundle,
 * and its compiled program in the folder of the compiled API. Null when it is not there. `folder` is where this module is,
 * and `executable` the program that runs it.
 */
export const findWorker = (
  folder: string = import.meta.dir,
  executable: string = process.execPath,
): string[] | null => {
  if (folder.startsWith(COMPILED)) {
    const program = join(dirname(executable), "realtime-avatar-worker");
    return existsSync(program) ? [program] : null;
  }
  const files = [join(folder, "../../../worker/src/main.ts"), join(folder, "../../worker/dist/main.js")];
  const file = files.find((path) => existsSync(path));
  // This process has read the `.env` already, unless it was told not to.
  return file === undefined ? null : [executable, "--no-env-file", file];
};
