/** docs/troubleshooting.md quotes texts of the service. Checks that each is in the code. */
import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { REPOSITORY } from "@realtime-avatar/testing/processes";

const document = await readFile(join(REPOSITORY, "docs/troubleshooting.md"), "utf8");
const SOURCES = [...new Bun.Glob("{apps,packages}/*/src/**/*.{ts,tsx}").scanSync({ cwd: REPOSITORY })].filter(
  (file) => !/\.(test|testing)\.|^packages\/testing\//.test(file),
);
const code = (await Promise.all(SOURCES.map((file) => readFile(join(REPOSITORY, file), "utf8"))))
  .join("\n")
  // JSX breaks a sentence at the end of a line.
  .replace(/\s+/g, " ");

/** The cells of the first column. */
const symptoms = document
  .split("\n")
  .filter((line) => /^\| (?!You see|-)/.test(line))
  .map((line) => line.split(" | ")[0]?.slice(2).trim() ?? "");
/** The quoted texts, without variable parts. */
const quoted = symptoms
  .flatMap((cell) => [...cell.matchAll(/`([^`]+)`|"([^"]+)"/g)])
  .map(([, first, second]) => (first ?? second ?? "").replace(/\s*…$/, ""));

test("the rows of docs/troubleshooting.md: more than fifty, most of which quote a text", () => {
  expect(symptoms.length).toBeGreaterThan(50);
  expect(quoted.length).toBeGreaterThan(40);
});

test("the texts that docs/troubleshooting.md quotes: each is in the code", () => {
  expect(quoted.filter((text) => !code.includes(text))).toEqual([]);
});
