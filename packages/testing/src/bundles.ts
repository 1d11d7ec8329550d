/** Bundles of the programs of `apps`, as for a release. They are kept between runs, by a hash of what they are built from. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Glob } from "bun";

export const REPOSITORY = join(import.meta.dir, "../../..");

/** Inside node_modules, because the bundles search the folders above them for the binaries from npm. */
const CACHE = join(REPOSITORY, "node_modules/.cache/tests");

/** Everything that a bundle is built from. The lock file tells the versions of the packages from npm. */
const SOURCES = [
  "bun.lock",
  "patches/*",
  "{apps,packages}/*/package.json",
  "{apps,packages}/*/{src,test,build,functions,migrations}/**",
];
const IS_TEST = /\.test(ing)?\.tsx?$/;

/** Age at which bundles of other sources are removed. No run of the tests takes as long. */
const KEPT_MS = 86_400_000;

let cached: string | null = null;

/** The folder of the bundles of the present sources. */
const folderOfBundles = (): string => {
  if (cached !== null) return cached;
  const files = SOURCES.flatMap((pattern) => [...new Glob(pattern).scanSync(REPOSITORY)]).filter(
    (file) => !IS_TEST.test(file),
  );
  const hasher = new Bun.CryptoHasher("sha256").update(Bun.version);
  for (const file of files.sort()) hasher.update(`\0${file}\0`).update(readFileSync(join(REPOSITORY, file)));
  cached = join(CACHE, hasher.digest("hex").slice(0, 16));
  if (!existsSync(cached)) {
    mkdirSync(cached, { recursive: true });
    for (const name of readdirSync(CACHE)) {
      const other = join(CACHE, name);
      if (Date.now() - statSync(other).mtimeMs > KEPT_MS) rmSync(other, { recursive: true, force: true });
    }
  }
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

const bundle = (file: string, folder: string): string => {
  fill(folder, (outdir) => ["build", join(REPOSITORY, file), "--target=bun", "--splitting", `--outdir=${outdir}`]);
  return join(folder, basename(file).replace(/\.ts$/, ".js"));
};

/** The bundle of a program of `apps`, with nothing beside it. It starts in two thirds of the time of its source. */
export const bundleOf = (file: string): string => bundle(file, join(folderOfBundles(), file.replaceAll(/[/.]/g, "-")));

/** The bundle of the API with the worker and the dashboard beside it, as in a release. */
export const releaseOfApi = (): string => {
  const release = join(folderOfBundles(), "release/apps");
  fill(join(release, "dashboard/dist"), (folder) => ["apps/dashboard/build/main.ts", folder]);
  bundle("apps/worker/src/main.ts", join(release, "worker/dist"));
  return bundle("apps/api/src/main.ts", join(release, "api/dist"));
};
