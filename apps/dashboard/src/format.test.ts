import { expect, test } from "bun:test";
import { bytes, credits, creditsText, parseCredits } from "./format.ts";

test.each([
  ["12.5", 12_500_000],
  [" 3 ", 3_000_000],
  [".5", 500_000],
  ["0", 0],
  ["0.000001", 1],
  ["0.0000001", null],
  ["1,5", null],
  ["-1", null],
  ["1e3", null],
  ["", null],
  ["99999999999999", null],
])("an amount, %p: in micros, or refused", (text, micros) => expect(parseCredits(text)).toBe(micros));

test.each([0, 1, 1_000_000, 12_500_000, 10_000_000, 999_999_999_999])(
  "an amount, %p micros shown and parsed: unchanged",
  (micros) => expect(parseCredits(creditsText(micros))).toBe(micros),
);

test.each([
  [1, "1 byte"],
  [1023, "1023 bytes"],
  [1024, "1 KiB"],
  [16 * 1024 * 1024, "16 MiB"],
])("a size, %p bytes: in words", (count, text) => expect(bytes(count)).toBe(text));

test.each([
  [0, "0"],
  [9999, "< 0.01"],
  [10_000, "0.01"],
])("credits, of %p micros: in words", (micros, text) => expect(credits(micros)).toBe(text));
