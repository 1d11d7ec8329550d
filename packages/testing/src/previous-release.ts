/**
 * The previous release, built from the history of the repository, for tests of an upgrade from it and of a rollback to
 * it.
 */
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { $ } from "bun";
import { CACHE, REPOSITORY } from "./bundles.ts";
import { source } from "./processes.ts";

/**
 * The commit of the previous release. Each release updates it: see "Make a release" in docs/development/migrations.md.
 */
export const PREVIOUS_RELEASE = "041c18776959a6fd2d32e16cb0ac84591e517e7e";
/** The number of migrations of the previous release. */
export const PREVIOUS_MIGRATIONS = 18;

/**
 * The commit whose avatar worker and service are the other side in tests of the wire, because the previous release has
 * no avatar worker. Both sides of that commit refuse unknown fields.
 */
export const PREVIOUS_WIRE = "72fcdb50bf22bd23891fe82899f0277f856f65d6";

/** Whether the repository has a commit. A shallow clone and a source archive do not. */
const hasCommit = (commit: string): boolean =>
  Bun.which("git") !== null &&
  Bun.spawnSync(["git", "cat-file", "-e", commit], { cwd: REPOSITORY, stderr: "ignore" }).exitCode === 0;
export const hasPreviousRelease = hasCommit(PREVIOUS_RELEASE);
export const hasPreviousWire = hasCommit(PREVIOUS_WIRE);

const draftOf = (target: string): string => `${target}.${process.pid}`;

/** Writes the sources of a commit into a folder, and installs its packages. */
const checkOut = async (commit: string, checkout: string): Promise<void> => {
  await mkdir(checkout, { recursive: true });
  await $`git -C ${REPOSITORY} archive ${commit} | tar -x -C ${checkout}`.quiet();
  await $`${process.execPath} install --frozen-lockfile --ignore-scripts`.cwd(checkout).quiet();
};

/** Fills a folder of the cache. The test processes run at the same time. The first one wins. */
const cached = async (target: string, make: (draft: string) => Promise<void>): Promise<void> => {
  if (existsSync(target)) return;
  const draft = draftOf(target);
  try {
    await make(draft);
    await rename(draft, target).catch((error: Error) => {
      if (!existsSync(target)) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
};

/** Builds the programs of the previous release. */
const build = async (draft: string): Promise<void> => {
  const checkout = join(draft, "source");
  await checkOut(PREVIOUS_RELEASE, checkout);
  for (const app of ["api", "cli"]) {
    const settings = ["--target=bun", "--splitting", "--entry-naming=[name].[ext]", `--outdir=${join(draft, app)}`];
    await $`${process.execPath} --no-env-file build apps/${app}/src/main.ts ${settings}`.cwd(checkout).quiet();
  }
  await rm(checkout, { recursive: true });
};

/** The command for a program of the previous release. */
export const previousRelease = async (app: "api" | "cli", ...args: string[]): Promise<string[]> => {
  const folder = join(CACHE, "releases", PREVIOUS_RELEASE);
  await cached(folder, build);
  return source(join(folder, app, "main.js"), ...args);
};

/** The command for a program of `PREVIOUS_WIRE`, which runs from its source: the avatar worker needs its packages beside it. */
export const previousWire = async (app: "api" | "avatar-worker" | "cli", ...args: string[]): Promise<string[]> => {
  const folder = join(CACHE, "releases", PREVIOUS_WIRE);
  await cached(folder, (draft) => checkOut(PREVIOUS_WIRE, draft));
  return source(join(folder, "apps", app, "src/main.ts"), ...args);
};

/** The texts of the database functions of that release, the types first. */
export const previousFunctions = async (): Promise<string[]> => {
  const types = "packages/db/functions/types.sql";
  const textOf = (...paths: string[]): Promise<string> =>
    $`git -C ${REPOSITORY} archive ${PREVIOUS_RELEASE} ${paths} | tar -xO`.text();
  return [await textOf(types), await textOf("packages/db/functions", `:!${types}`)];
};
