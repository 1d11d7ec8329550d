/**
 * sharp and its shared libraries (libvips). They cannot be part of a bundle or of a compiled program, because the
 * native module finds libvips by its own path. A bundle finds them in a `node_modules` above it, a compiled program in
 * `../lib/realtime-avatar` beside its folder.
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type Sharp from "sharp";

/** Whether this code runs in a compiled program, whose modules are in a virtual file system. */
export const isCompiled = (): boolean => import.meta.dir.startsWith("/$bunfs/");

/** The folder of the libraries of a compiled program. */
export const libraryFolder = (): string => join(dirname(process.execPath), "../lib/realtime-avatar");

/** A folder and those above it, nearest first. */
export const foldersAbove = (folder: string): string[] => {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersAbove(above)];
};

/** The folders in which a `node_modules` with sharp can be, nearest first. */
const candidates = (): string[] => (isCompiled() ? [libraryFolder()] : foldersAbove(import.meta.dir));

/**
 * Loads sharp. sharp is searched for, not imported, because without an installation Bun would download the package at
 * run time. Throws when sharp is not installed.
 */
export const loadSharp = (): typeof Sharp => {
  const packages = candidates().map((folder) => join(folder, "node_modules/sharp"));
  const found = packages.find((folder) => existsSync(join(folder, "package.json")));
  if (found === undefined) throw new Error("sharp is not installed beside the program.");
  return createRequire(join(found, "package.json"))(join(found, "dist/index.cjs")) as typeof Sharp;
};
