import { expect, test } from "bun:test";
import { dirname, join } from "node:path";

const REPOSITORY = join(import.meta.dir, "..");
const MAX_FILES = 16;
const GENERATED = /\/(api|generated|described)\.ts$/;

/** The TypeScript files of the repository. */
const SOURCES = [
  ...new Bun.Glob("{apps,packages,bench,deploy,scripts}/**/*.{ts,tsx}").scanSync({ cwd: REPOSITORY }),
].filter((file) => !/(^|\/)(node_modules|dist)\//.test(file));

test("the TypeScript files of each folder: at most 16", () => {
  const counts = new Map<string, number>();
  for (const file of SOURCES) {
    if (file.endsWith(".test.ts") || GENERATED.test(file)) continue;
    counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  }
  expect([...counts].filter(([, count]) => count > MAX_FILES)).toEqual([]);
});

test(".gitattributes, compared with the files: each pattern matches a file, and each generated source is marked", async () => {
  const text = await Bun.file(join(REPOSITORY, ".gitattributes")).text();
  const patterns = [...text.matchAll(/^\/(\S+) linguist-generated$/gm)].map(([, pattern = ""]) => pattern);
  const marked = patterns.map((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: REPOSITORY, dot: true })]);
  expect(patterns.filter((_, index) => marked[index]?.length === 0)).toEqual([]);
  const heads = await Promise.all(SOURCES.map((file) => Bun.file(join(REPOSITORY, file)).slice(0, 200).text()));
  const generated = SOURCES.filter((_, index) => /^\/\*.* Do not edit\. \*\/$/m.test(heads[index] ?? ""));
  expect(generated).not.toBeEmpty();
  expect(generated.filter((file) => !marked.flat().includes(file))).toEqual([]);
});
