import { expect, test } from "bun:test";
import {
  bytes,
  compactCredits,
  counted,
  creditAmount,
  credits,
  creditsText,
  duration,
  parseCredits,
  relativeTime,
  totalText,
} from "./format.ts";

test.each([
  ["12.5", 12_500_000],
  [" 3 ", 3_000_000],
  [".5", 500_000],
  ["0", 0],
  ["0.000001", 1],
  // In binary, this is a little less than 290,000 micros.
  ["0.29", 290_000],
  ["1.000001", 1_000_001],
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
  [1023, "1,023 bytes"],
  [1024, "1 KiB"],
  [1025, "2 KiB"],
  [1024 * 1024 - 1, "1024 KiB"],
  [1024 * 1024, "1 MiB"],
  [16 * 1024 * 1024, "16 MiB"],
])("a size, %p bytes: in words", (count, text) => expect(bytes(count)).toBe(text));

test.each([
  [0, "0"],
  [9999, "< 0.01"],
  [10_000, "0.01"],
  [1_239_000, "1.24"],
])("credits, of %p micros: in words", (micros, text) => expect(credits(micros)).toBe(text));

test.each([
  [999_000_000, "999"],
  [12_340_000_000, "12.3K"],
])("credits in a chart, of %p micros: short", (micros, text) => expect(compactCredits(micros)).toBe(text));

test.each([
  [0, "0 credits"],
  [5, "< 0.01 credits"],
  [1_000_000, "1 credit"],
  [1_500_000, "1.5 credits"],
  [68_000_000, "68 credits"],
])("credits with their unit, of %p micros: singular for 1", (micros, text) => expect(creditAmount(micros)).toBe(text));

test.each([
  [0, "0 s"],
  [59.6, "1 min"],
  [68, "1 min 8 s"],
  [112, "1 min 52 s"],
  [180, "3 min"],
  [3908, "1 h 5 min 8 s"],
  [3600, "1 h"],
])("a duration, of %p seconds: no second is dropped", (seconds, text) => expect(duration(seconds)).toBe(text));

const NOW = Date.parse("2026-11-20T12:00:00.000Z");
test.each([
  [90 * 86_400 - 1, "in 90 days"],
  [365 * 86_400 - 60, "in 365 days"],
  [2 * 86_400, "in 2 days"],
  [86_400, "in 24 hours"],
  [7200, "in 2 hours"],
  [5400, "in 90 minutes"],
  [3 * 3600 - 600, "in 3 hours"],
  [20 * 3600, "in 20 hours"],
  [1799, "in 30 minutes"],
  [60, "in 1 minute"],
  [59, "in less than a minute"],
  [0.5, "in less than a minute"],
  [0, "just now"],
  [-59, "just now"],
  [-90, "1 minute ago"],
  [-7200, "2 hours ago"],
  [-86_400, "yesterday"],
  [-60, "1 minute ago"],
  [-30 * 86_400, "last month"],
  [-70 * 86_400, "2 months ago"],
  [-365 * 86_400, "last year"],
])("a time, %p seconds from now: in words, in whole days", (seconds, text) =>
  expect(relativeTime(new Date(NOW + seconds * 1000).toISOString(), NOW)).toBe(text),
);

test.each([
  [1, "key", "1 key"],
  [2, "delivery", "2 deliveries"],
  [1500, "key", "1,500 keys"],
])("a count of %p: %s in the singular or the plural", (count, noun, text) => expect(counted(count, noun)).toBe(text));

test("the total of a list, with and without older items", () => {
  expect(totalText(53, "avatar", false)).toBe("53 avatars");
  expect(totalText(50, "avatar", true)).toBe("The newest 50 avatars, and there may be more");
  expect(totalText(50, "avatar", true, { count: 1234, isExact: true })).toBe("The newest 50 of 1,234 avatars");
  const many = { count: 10_000, isExact: false };
  expect(totalText(50, "key", true, many)).toBe("The newest 50 of more than 10,000 keys");
  // Completely loaded, or counted before newer items were loaded.
  expect(totalText(50, "key", false, many)).toBe("50 keys");
  expect(totalText(60, "key", true, { count: 60, isExact: true })).toBe("The newest 60 keys, and there may be more");
});
