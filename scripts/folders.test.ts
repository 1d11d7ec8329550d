import { expect, test } from "bun:test";
import { dirname, join } from "node:path";

const MAX_FILES = 16;
const GENERATED = /\/(api|generated|described)\.ts$/;

test("every folder, its own TypeScript files: at most 16", async () => {
  const counts = new Map<string, number>();
  const files = new Bun.Glob("{apps,packages,bench,deploy,scripts}/**/*.{ts,tsx}");
  for await (const file of files.scan({ cwd: join(import.meta.dir, "..") })) {
    if (/(^|\/)(node_modules|dist)\//.test(file) || file.endsWith(".test.ts") || GENERATED.test(file)) continue;
    counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  }
  expect([...counts].filter(([, count]) => count > MAX_FILES)).toEqual([]);
});
