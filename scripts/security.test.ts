import { expect, test } from "bun:test";
import { join } from "node:path";

const VERDICTS = ["met", "partly", "gap", "operator", "not applicable"];
/** A file with the titles of its tests that show an item, a trial without a test, or what the operator must do. */
const EVIDENCE = /^- (?:`[^`]+`(?: "[^"]+"(?:, "[^"]+")*)?|By hand\.|Operator: .+)$/;

/** The items of a chapter with their verdicts, the items that its text explains, and its evidence. */
const parseChapter = (text: string) => {
  const rows = /^\| Item .+\n.+\n((?:\|.+\n)+)/m.exec(text)?.[1]?.trim().split("\n") ?? [];
  const lines = text.replaceAll("\n  ", " ").split("\n");
  return {
    items: rows
      .map((row) => row.split("|").map((cell) => cell.trim()))
      .map(([, item, , verdict]) => ({ item, verdict })),
    explained: [...text.matchAll(/(?<=\n\n)\*\*(.+?)\*\*/g)].map(([, item]) => item),
    evidence: lines.filter((line) => line.startsWith("- ")),
  };
};

test.each(["owasp", "asvs"])(
  "docs/security/%s.md: the verdicts are known, and each text explains an item",
  async (name) => {
    const page = await Bun.file(join(import.meta.dir, `../docs/security/${name}.md`)).text();
    const chapters = page.split(/^## /m).slice(1).map(parseChapter);
    const all = chapters.flatMap(({ items }) => items.map(({ item }) => item));
    expect(new Set(all).size).toBe(all.length);
    for (const { items, explained, evidence } of chapters) {
      expect(items).not.toBeEmpty();
      expect(explained).toEqual(items.map(({ item }) => item).filter((item) => explained.includes(item)));
      expect(items.filter(({ verdict }) => !verdict?.split(", ").every((one) => VERDICTS.includes(one)))).toEqual([]);
      expect(evidence.filter((line) => !EVIDENCE.test(line))).toEqual([]);
    }
  },
);
