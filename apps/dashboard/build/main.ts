/**
 * Builds the dashboard.
 *
 *   bun build/main.ts            writes the pack to standard output, for a checkout
 *   bun build/main.ts FOLDER     writes it to FOLDER, for a release, with the list of the modules that it contains
 */
import { join } from "node:path";
import { buildPack, QUALITY } from "./pack.ts";

const [folder] = process.argv.slice(2);
const { pack, metafile } = await buildPack(folder === undefined ? QUALITY.checkout : QUALITY.release);
const text = JSON.stringify(pack);
if (folder === undefined) await Bun.write(Bun.stdout, text);
else {
  await Bun.write(join(folder, "dashboard.pack"), text);
  await Bun.write(join(folder, "dashboard.compiled.json"), JSON.stringify(metafile));
}
