import { expect, test } from "bun:test";
import { chartGroup, isTrialKey } from "./trial.ts";

const CREATED = "2026-11-20T12:00:00.000Z";
const TRIAL = { name: "Try a call", parentId: null, createdAt: CREATED, expiresAt: "2026-11-20T12:30:00.500Z" };

test("a key of a page: distinguished from keys of programs by its name and its short life", () => {
  expect(isTrialKey(TRIAL)).toBe(true);
  expect(isTrialKey({ ...TRIAL, name: "API reference" })).toBe(true);
  for (const other of [
    { name: "Shop" },
    { parentId: "key_1" },
    { expiresAt: null },
    { expiresAt: "2026-11-21T12:00:00.000Z" },
  ]) {
    expect(isTrialKey({ ...TRIAL, ...other })).toBe(false);
  }
});

test("the keys of trials, in a chart: one group", () => {
  expect(["key_1", "key_2"].map((id) => chartGroup(id, "Try a call"))).toEqual(["Try a call", "Try a call"]);
  expect(chartGroup("key_3", "Shop")).toBe("key_3");
});
