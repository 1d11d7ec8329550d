/**
 * What is kept between runs of the tests, by a hash of what it is made from; above all bundles of the programs of `apps`, as
 * for a release.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Glob } from "bun";

export const REPOSITORY = join(import.meta.dir, "../../..");

/** Inside node_modules, because the bundles search the folders above them for the binaries from npm. */
export const CACHE = join(REPOSITORY, "node_modules/.cache");

/** Everything that a bundle is built from. The lock file tells the versions of the packages from npm. */
export const SOURCES = [
  "bun.lock",
  "patches/*",
  "{apps,packages}/*/package.json",
  "{apps,packages}/*/{src,test,build,generated,migrations}/**",
];
const IS_TEST = /\.test(ing)?\.tsx?$/;

/** Age at which what was made from other sources is removed. No run of the tests takes as long. */
const KEPT_MS = 86_400_000;

/** The folder in the cache for what is made from the present state of these files. Its modification time is its last use. */
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

/** Fills a folder by a command, unless it exists. The tests run in several processes: the first that is ready wins. */
const fill = (folder: string, command: (temporary: string) => string[]): void => {
  if (existsSync(folder)) return;
  const temporary = `${folder}.${process.pid}`;
  mkdirSync(dirname(folder), { recursive: true });
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, "--no-env-file", ...command(temporary)], {
    cwd: REPOSITORY,
  });
  if (exitCode !== 0) throw new Error(`${basename(folder)} cannot be built:\n${stderr}`);
  try {
    renameSync(temporary, folder);
  } catch (error) {
    rmSync(temporary, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
};

/** As the `build` of these programs. */
const BYTECODE = ["--format=cjs", "--bytecode", "--define=import.meta.dir=module.path"];

/** Builds `files` into a folder, and returns the path of the first one. */
const bundle = ([file = "", ...others]: readonly string[], folder: string): string => {
  const sources = [file, ...others].map((name) => join(REPOSITORY, name));
  const names = ["--entry-naming=[name].[ext]"];
  const form = /^apps\/(api|cli)\/src/.test(file) ? BYTECODE : ["--splitting"];
  fill(folder, (outdir) => ["build", ...sources, "--target=bun", ...form, ...names, `--outdir=${outdir}`]);
  return join(folder, basename(file).replace(/\.ts$/, ".js"));
};

/** Programs of the tests that start another program, which must be beside them. */
const STARTED_BY: Record<string, string> = { "apps/worker/test/support/worker.ts": "apps/worker/src/main.ts" };

/** The bundle of a program of `apps`, with nothing else beside it. It starts in a third of the time of its source. */
export const bundleOf = (file: string): string =>
  bundle([file, STARTED_BY[file] ?? []].flat(), join(folderOfBundles(), file.replaceAll(/[/.]/g, "-")));

/** The bundle of the API with the worker and the dashboard beside it, as in a release. */
export const releaseOfApi = (): string => {
  const release = join(folderOfBundles(), "release/apps");
  fill(join(release, "dashboard/dist"), (folder) => ["apps/dashboard/build/main.ts", folder]);
  bundle(["apps/worker/src/main.ts"], join(release, "worker/dist"));
  return bundle(["apps/api/src/main.ts"], join(release, "api/dist"));
};
