/**
 * Writes the notices of the packages that a bundle or a program contains, with the texts of their licences:
 *
 *   bun scripts/third-party-notices.ts [--with-runtime] OUTPUT METAFILE...
 *
 * A METAFILE is what `bun build --metafile` writes: the modules that the bundler has read. It lies below the folder in
 * which the bundler ran, which has a package.json. `--with-runtime` adds Bun, which a compiled program contains.
 * A package whose licence is not allowed, or has no text, ends the build with an error.
 */
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/** SPDX identifiers of licences that ask for no more than their text. An expression is not one: look at it first. */
export const ALLOWED_LICENSES = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unlicense"];

/** The standard texts, for packages that name their licence and bring no text of it. */
const STANDARD_TEXTS = join(import.meta.dir, "licenses");
const PACKAGE = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\/(.*)$/;
const LINE = "=".repeat(80);

/** Bun's own licences change with its version; its page for a version lists them. */
const RUNTIME = `Bun ${Bun.version}
License: MIT, and those of the libraries that are linked into it

The programs contain the Bun runtime. Bun is MIT-licensed. It statically links JavaScriptCore and other parts of WebKit
(LGPL 2), and further libraries under licences of their own. The list of them, their licences, the sources of WebKit and
how to link Bun with a changed WebKit are on
https://github.com/oven-sh/bun/blob/bun-v${Bun.version}/LICENSE.md
`;

type Metafile = { inputs: Record<string, unknown> };
type Manifest = { name: string; version: string; license?: unknown };

/** The packages of which a metafile has modules: by the folder of each, the files. */
const packagesOf = async (metafile: string): Promise<Map<string, string[]>> => {
  let base = dirname(resolve(metafile));
  while (!existsSync(join(base, "package.json"))) base = dirname(base);
  const { inputs } = JSON.parse(await readFile(metafile, "utf8")) as Metafile;
  const packages = new Map<string, string[]>();
  for (const input of Object.keys(inputs)) {
    const [, folder, file] = PACKAGE.exec(resolve(base, input)) ?? [];
    if (folder === undefined || file === undefined) continue;
    packages.set(folder, [...(packages.get(folder) ?? []), file]);
  }
  return packages;
};

/** The names of the files in `folder` that a notice has to repeat: licences, and what comes beside a bundled file. */
const noticeFiles = async (folder: string, bundled: readonly string[]): Promise<string[]> => {
  const beside = new Set(bundled.map((file) => `${basename(file)}.LICENSE.txt`));
  const isNotice = (name: string): boolean =>
    /^(un)?licen[cs]e(\.(md|txt))?$|^copying|^notice(\.(md|txt))?$/i.test(name) || beside.has(name);
  return (await readdir(folder)).filter(isNotice).sort();
};

/** The notice of one package. Throws when its licence is not allowed, or has no text. */
const noticeOf = async (folder: string, bundled: readonly string[]): Promise<string> => {
  const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
  if (typeof license !== "string" || !ALLOWED_LICENSES.includes(license)) {
    throw new Error(`The licence of ${name} ${version} is not allowed: ${JSON.stringify(license) ?? "none is named"}`);
  }
  const files = (await noticeFiles(folder, bundled)).map((file) => join(folder, file));
  if (files.length === 0) files.push(join(STANDARD_TEXTS, `${license}.txt`));
  const texts = await Promise.all(
    files.map((file) =>
      readFile(file, "utf8").catch(() => {
        throw new Error(`${name} ${version} has no text of its licence (${license}), and ${STANDARD_TEXTS} has none`);
      }),
    ),
  );
  return [`${name} ${version}\nLicense: ${license}\n`, ...texts.map((text) => `${text.trim()}\n`)].join("\n");
};

/** The notices of all packages of the metafiles, sorted by name. */
export const thirdPartyNotices = async (metafiles: readonly string[], hasRuntime = false): Promise<string> => {
  const packages = new Map<string, string[]>();
  for (const metafile of metafiles) {
    for (const [folder, files] of await packagesOf(metafile)) {
      packages.set(folder, [...(packages.get(folder) ?? []), ...files]);
    }
  }
  const notices = await Promise.all([...packages].map(([folder, files]) => noticeOf(folder, files)));
  // A package can be installed twice in one version.
  const sorted = [...new Set(notices)].sort();
  const head = "What this software contains of others, and under which licences. Written by the build.\n";
  return [head, ...(hasRuntime ? [RUNTIME] : []), ...sorted].join(`\n${LINE}\n`);
};

if (import.meta.main) {
  const words = process.argv.slice(2);
  const [output, ...metafiles] = words.filter((word) => word !== "--with-runtime");
  try {
    if (output === undefined || metafiles.length === 0) throw new Error("Usage: [--with-runtime] OUTPUT METAFILE...");
    await writeFile(output, await thirdPartyNotices(metafiles, words.includes("--with-runtime")));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(1);
  }
}
