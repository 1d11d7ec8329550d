import { expect, test } from "bun:test";
import { join } from "node:path";
import { apiTexts, commandLineTexts, dashboardTexts, GLOSSARY } from "./glossary.ts";

const SOURCES = { dashboard: dashboardTexts, "command line": commandLineTexts, API: apiTexts };

test.each(Object.entries(SOURCES))("the texts of the %s: the names of the glossary, no synonyms", async (_, read) => {
  const texts = await read();
  expect(texts.length).toBeGreaterThan(30);
  const synonyms = texts.flatMap(({ source, text }) =>
    GLOSSARY.filter(({ not }) => not.test(text)).map(({ name }) => `${source}: ${text} (write: ${name})`),
  );
  expect(synonyms).toEqual([]);
});

test("the texts between the tags of the dashboard: no raw backticks, which only `Prose` renders as code", async () => {
  const texts = (await dashboardTexts()).filter(({ source }) => /\.tsx:\d+$/.test(source));
  expect(texts.length).toBeGreaterThan(30);
  expect(texts.filter(({ text }) => text.includes("`"))).toEqual([]);
});

test("a relative time in the dashboard: the absolute time is in the title of its element", async () => {
  const folder = join(import.meta.dir, "../../apps/dashboard/src");
  const texts = await Promise.all(
    [...new Bun.Glob("**/*.tsx").scanSync(folder)].map((file) => Bun.file(join(folder, file)).text()),
  );
  const uses = texts.flatMap((text) => text.match(/<\w+[^<]*\{relativeTime\(|relativeTime\(/g) ?? []);
  expect(uses).not.toBeEmpty();
  expect(uses.filter((use) => !/title=\{dateTime\(/.test(use))).toEqual([]);
});
