import { expect, test } from "bun:test";
import { createRecentIds } from "./recent-ids.ts";

test("recent ids are remembered, at least half of the maximum, and never more than that", () => {
  const ids = createRecentIds(100);
  const remembered = (): number =>
    Array.from({ length: 1000 }, (_, index) => ids.has(`${index}`)).filter(Boolean).length;
  expect(ids.has("0")).toBe(false);
  for (let index = 0; index < 1000; index++) {
    ids.add(`${index}`);
    for (let latest = Math.max(0, index - 49); latest <= index; latest++) expect(ids.has(`${latest}`)).toBe(true);
    expect(remembered()).toBeLessThanOrEqual(100);
  }
});

test("an id that is seen again and again stays, whatever comes between", () => {
  const ids = createRecentIds(100);
  for (let index = 0; index < 1000; index++) {
    if (index % 40 === 0) ids.add("regular");
    ids.add(`${index}`);
    expect(ids.has("regular")).toBe(true);
  }
});
