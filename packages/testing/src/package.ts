/** A package as its users get it: packed, and installed into an empty folder. */
import { afterAll } from "bun:test";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryFolder } from "./temporary-folder.ts";

/** Runs a command with only these environment variables. Returns its output; throws with all of it when it fails. */
export const runIn = async (cwd: string, command: string[], env: Record<string, string> = {}): Promise<string> => {
  const { PATH = "", HOME = "" } = process.env;
  const child = Bun.spawn(command, { cwd, env: { PATH, HOME, ...env }, stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const code = await child.exited;
  if (code !== 0) throw new Error(`${command.join(" ")} exited with ${code}\n${out}\n${err}`);
  return out;
};

/**
 * Packs the package in `root`, and installs it with the packages in the folders `others`, into a folder for this test
 * file. npm is used because it cannot install versions of a catalog or a workspace, so a package that contains one
 * fails. `bun pm pack` would replace them by numbers. The tarball and the folders are local, so that npm needs no registry.
 */
export const installPacked = async (root: string, ...others: string[]): Promise<string> => {
  const folder = await temporaryFolder();
  afterAll(() => rm(folder, { recursive: true, force: true }));
  await runIn(root, ["npm", "pack", "--pack-destination", folder, "--silent"]);
  const [tarball] = await readdir(folder);
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }));
  const flags = ["--offline", "--no-audit", "--no-fund", "--no-package-lock"];
  await runIn(folder, ["npm", "install", ...flags, ...others, `./${tarball}`]);
  return folder;
};
