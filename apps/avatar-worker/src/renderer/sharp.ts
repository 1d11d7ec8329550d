/** sharp, with its shared libraries. A compiled program cannot contain them: it has them in `../lib` beside its folder. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type Sharp from "sharp";

const isCompiled = import.meta.url.includes("/$bunfs/");
/** Relative to the program, where a compiled one looks for packages. */
const LIBRARIES = "../lib/realtime-avatar-avatar-worker/node_modules/sharp";

/** Loads sharp. Throws when it is not there. */
export const loadSharp = (): typeof Sharp => {
  const folder = join(dirname(process.execPath), LIBRARIES);
  const require = createRequire(isCompiled ? join(folder, "package.json") : import.meta.url);
  return require(isCompiled ? join(folder, "dist/index.cjs") : "sharp");
};
