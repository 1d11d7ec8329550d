/**
 * Loads sharp with its shared libraries. A compiled program cannot contain them: they are in `../lib` beside its
 * folder.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type Sharp from "sharp";

const isCompiled = import.meta.url.includes("/$bunfs/");
/** Relative to the program: a compiled program looks for packages there. */
const LIBRARIES = "../lib/realtime-avatar-avatar-worker/node_modules/sharp";

/** Loads sharp. Throws when it is not installed. */
export const loadSharp = (): typeof Sharp => {
  const folder = join(dirname(process.execPath), LIBRARIES);
  const require = createRequire(isCompiled ? join(folder, "package.json") : import.meta.url);
  return require(isCompiled ? join(folder, "dist/index.cjs") : "sharp");
};
