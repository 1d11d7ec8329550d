import { expect, test } from "bun:test";
import { DEFAULT_MARK, MARK_CHARACTERS, readMark } from "./mark.ts";

test.each([
  [DEFAULT_MARK, "AI"],
  ["AI-GENERATED 2.0", "AI-GENERATED 2.0"],
  ["none", ""],
])("a mark, %p: drawn as %p", (value, text) => {
  expect(readMark(value)).toBe(text);
});

test.each(["", " ", "   ", "ai", "KÜNSTLICH", "A\u0000", "X".repeat(17), "<b>"])("a mark, %p: refused", (value) => {
  expect(readMark(value)).toBeUndefined();
});

test("each character of marks: allowed", () => {
  for (const character of MARK_CHARACTERS) expect(readMark(`A${character}`)).toBe(`A${character}`);
});
