/** The release before this one, built from the history of the repository: for tests of an upgrade from it and a roll back. */
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { $ } from "bun";
import { CACHE, REPOSITORY } from "./bundles.ts";
import { source } from "./processes.ts";

/** Its commit. A release sets this to the release before: see "Make a release" in CONTRIBUTING.md. */
export const PREVIOUS_RELEASE = "041c18776959a6fd2d32e16cb0ac84591e517e7e";
/** How many migrations it has. */
export const PREVIOUS_MIGRATIONS = 18;

/** Whether the repository has that commit. A shallow clone and a source archive do not. */
export const hasPreviousRelease =
  Bun.which("git") !== null &&
  Bun.spawnSync(["git", "cat-file", "-e", PREVIOUS_RELEASE], { cwd: REPOSITORY, stderr: "ignore" }).exitCode === 0;

const draftOf = (target: string): string => `${target}.${process.pid}`;

/** Installs the packages of that release, and builds its programs. The test processes run at once: the first wins. */
const build = async (target: string): Promise<void> => {
  const draft = draftOf(target);
  const checkout = join(draft, "source");
  await mkdir(checkout, { recursive: true });
  await $`git -C ${REPOSITORY} archive ${PREVIOUS_RELEASE} | tar -x -C ${checkout}`.quiet();
  await $`${process.execPath} install --frozen-lockfile --ignore-scripts`.cwd(checkout).quiet();
  for (const app of ["api", "cli"]) {
    const settings = ["--target=bun", "--splitting", "--entry-naming=[name].[ext]", `--outdir=${join(draft, app)}`];
    await $`${process.execPath} --no-env-file build apps/${app}/src/main.ts ${settings}`.cwd(checkout).quiet();
  }
  await rm(checkout, { recursive: true });
  await rename(draft, target).catch((error: Error) => {
    if (!existsSync(target)) throw error;
  });
};

/** The command for a program of the previous release. */
export const previousRelease = async (app: "api" | "cli", ...args: string[]): Promise<string[]> => {
  const folder = join(CACHE, "releases", PREVIOUS_RELEASE);
  if (!existsSync(folder)) await build(folder).finally(() => rm(draftOf(folder), { recursive: true, force: true }));
  return source(join(folder, app, "main.js"), ...args);
};

/** The texts of the database functions of that release, the types first. */
export const previousFunctions = async (): Promise<string[]> => {
  const types = "packages/db/functions/types.sql";
  const textOf = (...paths: string[]): Promise<string> =>
    $`git -C ${REPOSITORY} archive ${PREVIOUS_RELEASE} ${paths} | tar -xO`.text();
  return [await textOf(types), await textOf("packages/db/functions", `:!${types}`)];
};
