/**
 * Copies packages that cannot be part of a compiled program to a folder beside the program, with all their dependencies
 * at run time on this machine's platform:
 *
 *   bun scripts/copy-packages.ts FOLDER METAFILE PACKAGE...
 *
 * Replaces `FOLDER/node_modules`. Writes the copied files to METAFILE in the form of `bun build --metafile`, so that
 * `third-party-notices.ts` finds the packages.
 */
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";

type Manifest = { dependencies?: Record<string, string>; optionalDependencies?: Record<string, string> };

/** Files that only the development or the build of a package needs: C++ sources, headers, types, and the same modules as ESM. */
const NOT_NEEDED = /^(src|install|lib\/glib-2\.0)\/|\.(d\.[cm]?ts|mjs|h)$/;

/**
 * The folders of the packages and of all their dependencies. An optional dependency of another platform is not
 * installed.
 */
const closureOf = async (names: readonly string[], nodeModules: string): Promise<string[]> => {
  const found = new Set<string>();
  const add = async (name: string, isOptional: boolean): Promise<void> => {
    const folder = join(nodeModules, name);
    if (found.has(folder)) return;
    if (!existsSync(join(folder, "package.json"))) {
      if (isOptional) return;
      throw new Error(`${name} is not installed in ${nodeModules}`);
    }
    found.add(folder);
    const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
    const { dependencies = {}, optionalDependencies = {} } = manifest;
    for (const needed of Object.keys(dependencies)) await add(needed, needed in optionalDependencies);
    for (const needed of Object.keys(optionalDependencies)) await add(needed, true);
  };
  for (const name of names) await add(name, false);
  return [...found];
};

const filesOf = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((file) => !NOT_NEEDED.test(file));

const [folder, metafile, ...names] = process.argv.slice(2);
if (folder === undefined || metafile === undefined || names.length === 0) {
  throw new Error("Usage: FOLDER METAFILE PACKAGE...");
}
const nodeModules = resolve(import.meta.dir, "../node_modules");
const target = join(folder, "node_modules");
await rm(target, { recursive: true, force: true });
const packages = await closureOf(names, nodeModules);
// Such a package exists only for its platform. Without one, the program would fail at its first file.
if (names.includes("sharp") && !packages.some((name) => /sharp-libvips-/.test(name))) {
  throw new Error("The optional packages of sharp for this platform are not installed.");
}
const inputs: Record<string, object> = {};
for (const source of packages) {
  for (const file of await filesOf(source)) {
    const to = join(target, relative(nodeModules, source), file);
    await mkdir(dirname(to), { recursive: true });
    await cp(join(source, file), to, { dereference: true });
    inputs[relative(process.cwd(), join(source, file))] = {};
  }
}
await mkdir(dirname(metafile), { recursive: true });
await writeFile(metafile, JSON.stringify({ inputs }));
