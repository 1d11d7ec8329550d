/**
 * A cache between runs of the tests, keyed by a hash of the sources. It has mainly bundles of the programs of `apps`,
 * built as for a release.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Glob } from "bun";

export const REPOSITORY = join(import.meta.dir, "../../..");

/** Inside node_modules, because the bundles search the folders above them for the binaries from npm. */
export const CACHE = join(REPOSITORY, "node_modules/.cache");

/** The sources of a bundle. The lock file has the versions of the packages from npm. */
export const SOURCES = [
  "bun.lock",
  "patches/*",
  "{apps,packages}/*/package.json",
  "{apps,packages}/*/{src,test,build,generated,migrations}/**",
  // The guides of /docs.
  "docs/*.md",
];
const IS_TEST = /\.test(ing)?\.tsx?$/;

/** The age at which entries of other sources are removed. Every run of the tests is shorter. */
const KEPT_MS = 86_400_000;

/** The folder in the cache for the present state of these files. Its modification time is its last use. */
export const cacheFolder = (kind: string, sources: readonly string[]): string => {
  const files = sources
    .flatMap((pattern) => [...new Glob(pattern).scanSync(REPOSITORY)])
    .filter((file) => !IS_TEST.test(file));
  const hasher = new Bun.CryptoHasher("sha256").update(Bun.version);
  for (const file of files.sort()) hasher.update(`\0${file}\0`).update(readFileSync(join(REPOSITORY, file)));
  const folder = join(CACHE, kind, hasher.digest("hex").slice(0, 16));
  const isNew = !existsSync(folder);
  mkdirSync(folder, { recursive: true });
  const now = new Date();
  utimesSync(folder, now, now);
  if (isNew) {
    for (const name of readdirSync(join(CACHE, kind))) {
      const other = join(CACHE, kind, name);
      // Another process may remove it at the same time.
      const lastUse = statSync(other, { throwIfNoEntry: false })?.mtimeMs ?? now.getTime();
      if (now.getTime() - lastUse > KEPT_MS) rmSync(other, { recursive: true, force: true });
    }
  }
  return folder;
};

let cached: string | null = null;

/** The folder of the bundles of the present sources. */
const folderOfBundles = (): string => {
  cached ??= cacheFolder("tests", SOURCES);
  return cached;
};

/** Fills a folder of the cache. */
type Recipe = { folder: string; command: (draft: string) => string[] };
type Outcome = { exitCode: number | null; stderr: unknown };

/** The temporary name of a folder while it is filled. */
const draftOf = ({ folder }: Recipe): string => {
  mkdirSync(dirname(folder), { recursive: true });
  return `${folder}.${process.pid}`;
};

/** Renames the draft to its folder. Tests run in several processes. The first one that finishes wins. */
const publish = ({ folder }: Recipe, draft: string, { exitCode, stderr }: Outcome): void => {
  if (exitCode !== 0) throw new Error(`${basename(folder)} cannot be built:\n${stderr}`);
  try {
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
};

/** Fills a folder of the cache, unless it exists. */
const fill = (recipe: Recipe): void => {
  if (existsSync(recipe.folder)) return;
  const draft = draftOf(recipe);
  publish(recipe, draft, Bun.spawnSync(recipe.command(draft), { cwd: REPOSITORY }));
};

/** Like `fill`, without blocking, so that several can run at a time. */
const fillBeside = async (recipe: Recipe): Promise<void> => {
  if (existsSync(recipe.folder)) return;
  const draft = draftOf(recipe);
  const child = Bun.spawn(recipe.command(draft), { cwd: REPOSITORY, stdout: "ignore", stderr: "pipe" });
  const stderr = await new Response(child.stderr).text();
  publish(recipe, draft, { exitCode: await child.exited, stderr });
};

const BUN = [process.execPath, "--no-env-file"];
/** The same options as in `build` of these programs. */
const BYTECODE = ["--format=cjs", "--bytecode", "--define=import.meta.dir=module.path"];

/** Programs of the tests that start another program. That program must be beside them. */
const STARTED_BY: Record<string, string> = { "apps/worker/test/support/worker.ts": "apps/worker/src/main.ts" };

const recipeOf = (file: string): Recipe => {
  const sources = [file, STARTED_BY[file] ?? []].flat().map((name) => join(REPOSITORY, name));
  const names = ["--entry-naming=[name].[ext]"];
  const form = /^apps\/(api|cli)\/src/.test(file) ? BYTECODE : ["--splitting"];
  const command: Recipe["command"] = (outdir) => [
    ...[...BUN, "build", ...sources, "--target=bun", ...form, ...names, `--outdir=${outdir}`],
  ];
  return { folder: join(folderOfBundles(), file.replaceAll(/[/.]/g, "-")), command };
};

/**
 * The bundle of a program of `apps`, without other files in its folder. It starts in a third of the time of its source.
 */
export const bundleProgram = (file: string): string => {
  const recipe = recipeOf(file);
  fill(recipe);
  return join(recipe.folder, basename(file).replace(/\.ts$/, ".js"));
};

const dashboard = (): Recipe => ({
  folder: join(folderOfBundles(), "release/apps/dashboard/dist"),
  command: (draft) => [...BUN, "apps/dashboard/build/main.ts", draft],
});

/** Copies the bundle of an app to its place in a release. Returns the path of the program. */
const released = (app: string): string => {
  const built = bundleProgram(`apps/${app}/src/main.ts`);
  const folder = join(folderOfBundles(), "release/apps", app, "dist");
  fill({ folder, command: (draft) => ["cp", "-r", dirname(built), draft] });
  return join(folder, basename(built));
};

/** The bundle of the API with the worker and the dashboard beside it, as in a release. */
export const releaseOfApi = (): string => {
  fill(dashboard());
  released("worker");
  return released("api");
};

/** Builds in parallel the programs that most test processes need. */
export const buildAll = async (): Promise<void> => {
  const apps = ["api", "avatar-worker", "cli", "worker"].map((app) => recipeOf(`apps/${app}/src/main.ts`));
  await Promise.all([dashboard(), ...apps].map(fillBeside));
  releaseOfApi();
};
