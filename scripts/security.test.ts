import { expect, test } from "bun:test";
import { join } from "node:path";

const VERDICTS = ["met", "partly", "gap", "operator", "not applicable"];
const FILE = '`[^`]+`(?: "[^"]+"(?:, "[^"]+")*)?';
/** The evidence in owasp.md: a file with the titles of its tests, a manual trial, or a task of the operator. */
const EVIDENCE = new RegExp(`^- (?:${FILE}|By hand\\.|Operator: .+)$`);
/** In asvs.md: the items, and the files that show them. */
const TESTS = new RegExp(`^- ([^:\`]+): ${FILE}(?:, ${FILE})*$`);

const readChapters = async (name: string): Promise<string[]> =>
  (await Bun.file(join(import.meta.dir, `../docs/security/${name}.md`)).text()).split(/^## /m).slice(1);

/** The rows of the table of a chapter, the items that its text explains, and its lists. */
const parseChapter = (text: string) => {
  const rows = /^\| Item .+\n.+\n((?:\|.+\n)+)/m.exec(text)?.[1]?.trim().split("\n") ?? [];
  const lines = text.replaceAll(/\n {2}/g, " ").split("\n");
  return {
    items: rows
      .map((row) => row.split("|").map((cell) => cell.trim()))
      .map(([, item = "", , verdict = "", how]) => ({ item, verdict, how })),
    explained: [...text.matchAll(/(?<=\n\n)\*\*(.+?)\*\*/g)].map(([, item]) => item),
    list: lines.filter((line) => line.startsWith("- ")),
  };
};

test.each(["owasp", "asvs"])("the items in docs/security/%s.md: each once, with a known verdict", async (name) => {
  const items = (await readChapters(name)).flatMap((text) => parseChapter(text).items);
  expect(items).not.toBeEmpty();
  expect(new Set(items.map(({ item }) => item)).size).toBe(items.length);
  expect(items.filter(({ verdict }) => !verdict.split(", ").every((one) => VERDICTS.includes(one)))).toEqual([]);
});

test("the texts in docs/security/owasp.md: each explains an item, with evidence of a known form", async () => {
  for (const { items, explained, list } of (await readChapters("owasp")).map(parseChapter)) {
    expect(explained).toEqual(items.map(({ item }) => item).filter((item) => explained.includes(item)));
    expect(list.filter((line) => !EVIDENCE.test(line))).toEqual([]);
  }
});

test("the tests in docs/security/asvs.md: each line names items of its chapter and files", async () => {
  for (const { items, list } of (await readChapters("asvs")).map(parseChapter)) {
    const known = items.flatMap(({ item }) => item.replaceAll(/ L\d/g, "").split(", "));
    const named = list.map((line) => TESTS.exec(line)?.[1]?.split(", ") ?? [line]);
    expect(named.flat().filter((item) => !known.includes(item))).toEqual([]);
    expect(items.filter(({ how }) => how === "")).toEqual([]);
  }
});
