/**
 * Builds the dashboard.
 *
 *   bun build/main.ts            writes the pack to standard output
 *   bun build/main.ts FOLDER     writes it to FOLDER, with the list of the modules that it contains
 */
import { join } from "node:path";
import { buildPack } from "./pack.ts";

const [folder] = process.argv.slice(2);
const { pack, metafile } = await buildPack();
const text = JSON.stringify(pack);
if (folder === undefined) await Bun.write(Bun.stdout, text);
else {
  await Bun.write(join(folder, "dashboard.pack"), text);
  await Bun.write(join(folder, "dashboard.compiled.json"), JSON.stringify(metafile));
}
