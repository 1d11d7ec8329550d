import { expect, test } from "bun:test";
import { costText, maxCost, type Video } from "./data.ts";

test("the highest cost of a text: a second for every eight characters, at the price of a second", () => {
  expect(maxCost("Hello, and welcome to our shop.", 2_000_000)).toEqual({ seconds: 4, creditMicros: 8_000_000 });
  expect(maxCost("  Hi  ")).toEqual({ seconds: 1, creditMicros: 1_000_000 });
  // Code points, counted like the service does.
  expect(maxCost("😀".repeat(8)).seconds).toBe(1);
});

test.each([
  [{ billedCreditMicros: null }, "holds 4 credits"],
  [{ billedCreditMicros: 3_000_000 }, "3 credits"],
  [{ billedCreditMicros: 0 }, "not charged"],
] as const)("the cost of a video that was charged %j: %s", (billed, text) => {
  expect(costText({ ...billed, reservedCreditMicros: 4_000_000 } as Video)).toBe(text);
});
