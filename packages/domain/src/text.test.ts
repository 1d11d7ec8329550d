import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { codePoint } from "./testing.ts";
import { codePointLength, isStorableText } from "./text.ts";

const wellFormed = fc.string({ unit: codePoint });

describe("text", () => {
  test("the length of a text: in code points", () => {
    fc.assert(
      fc.property(wellFormed, (text) => {
        expect(codePointLength(text)).toBe([...text].length);
      }),
      { seed: 6, numRuns: 500 },
    );
    expect(codePointLength("👩‍🚀é")).toBe(4);
  });

  test.each([
    ["", true],
    ["plain", true],
    ["👩‍🚀 \u2028 \u202e \u200b \u0001 \u007f \u009f \uffff \u{10ffff}", true],
    ["a\0b", false],
    ["\ud800", false],
    ["\udc00\ud800", false],
    ["😀\ud83d", false],
  ])("text, %j: storable: %p", (text, storable) => {
    expect(isStorableText(text)).toBe(storable);
  });
});
