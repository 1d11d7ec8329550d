import { describe, expect, test } from "bun:test";
import { AVATAR_LIST } from "../avatars/schemas.ts";
import { firstIdAt, newId } from "../id.ts";
import { pageText } from "../page.ts";
import { idRange, type NameSearch, nameSearch, readSearch } from "./search.ts";

describe("a text to look for in names", () => {
  test.each([
    ["Ada", { text: "ada", upper: null, pattern: "%ada%", parts: ["ada"] }],
    ["Bot v2 100%_\\", { text: "bot v2 100%_\\", upper: null, pattern: "%bot%100%", parts: ["bot", "100"] }],
    ["%", { text: "%", upper: null, pattern: "%%", parts: [] }],
    [
      "Zoë KÄ",
      { text: "zoë kä", decomposed: "zoe\u0308 ka\u0308", upper: "ËÄ", lower: "ëä", pattern: "%%", parts: [] },
    ],
    ["e\u0301", { text: "é", upper: "É", lower: "é", pattern: "%%", parts: [] }],
    ["İzmir ı", { text: "İzmir ı", upper: "", lower: "", pattern: "%zmir%", parts: ["zmi", "mir"] }],
    ["STRAẞE ß", { text: "straße ß", upper: "", lower: "", pattern: "%stra%", parts: ["str", "tra"] }],
    ["Й", { text: "й", decomposed: "и\u0306", upper: "ЙИ", lower: "йи" }],
    ["日本", { text: "日本", upper: "", lower: "", pattern: "%%", parts: [] }],
    ["aaaaaa", { text: "aaaaaa", pattern: "%aaaaaa%", parts: ["aaa"] }],
    [`${"a".repeat(60)}b cd`, { pattern: `%${"a".repeat(60)}b%`, parts: ["aaa", "aab"] }],
    [
      "abcdefghijklmnop qrs",
      { pattern: "%abcdefghij%", parts: ["abc", "bcd", "cde", "def", "efg", "fgh", "ghi", "hij"] },
    ],
  ])("the text %j: %j", (name, search: Partial<NameSearch>) => expect(nameSearch(name)).toMatchObject(search));
});

describe("the ids of a page", () => {
  const [early, late] = ["2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z"];
  const first = (time: string) => firstIdAt("ava", new Date(time));
  const random = (count: number) => new Uint8Array(count).fill(255);

  test("times and a cursor: the narrowest range", () => {
    expect(idRange("ava", {}, null)).toEqual({ first: "ava_", before: "ava~" });
    expect(idRange("ava", { from: early, to: late }, null)).toEqual({ first: first(early), before: first(late) });
    expect(idRange("ava", { to: late }, first(early)).before).toBe(first(early));
    expect(idRange("ava", { to: early }, first(late)).before).toBe(first(early));
  });

  test("an id: a range with only this id, without longer ones", () => {
    const id = newId("ava", new Date(early), random);
    const range = idRange("ava", { id }, null);
    expect(range).toEqual({ first: id, before: `${id}!` });
    const partial = idRange("ava", { id: id.slice(0, 20) }, null);
    expect(id < partial.before).toBe(false);
    expect(idRange("ava", { id: "ava" }, null)).toEqual({ first: "ava_", before: "ava!" });
  });
});

describe("a request for a page of a search", () => {
  test("times in any offset: written in one form, which the cursor keeps", () => {
    const page = readSearch(AVATAR_LIST, { name: "A", from: "2026-01-01T01:00:00+01:00" });
    expect(page.filters).toEqual({ name: "A", from: "2026-01-01T00:00:00.000Z" });
    const next = firstIdAt("ava", new Date());
    const { nextCursor } = JSON.parse(pageText(AVATAR_LIST, page, { items: "", next }).join(""));
    expect(readSearch(AVATAR_LIST, { cursor: nextCursor, from: "2025-12-31T23:00:00-01:00" })).toEqual({
      ...page,
      before: next,
    });
    expect(() => readSearch(AVATAR_LIST, { cursor: nextCursor, name: "B" })).toThrow();
  });

  test("an end before the start: refused", () => {
    const time = "2026-01-01T00:00:00Z";
    expect(() => readSearch(AVATAR_LIST, { from: time, to: time })).toThrow();
  });
});
