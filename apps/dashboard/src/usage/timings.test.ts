/** Stages of answers and times within calls, as texts. */
import { expect, test } from "bun:test";
import { clockTime, timedStages, totalText } from "./timings.ts";

test.each([
  [-500, "0:00"],
  [0, "0:00"],
  [65_900, "1:05"],
  [3_600_000, "1:00:00"],
  [36_610_000, "10:10:10"],
])("%p ms in a call: %s", (ms, text) => expect(clockTime(ms)).toBe(text));

test("stages in any order, with one of a newer version: in order, the new one last", () => {
  const stages = timedStages({ heard: 240, end_of_turn: 352, thought: 5, note: "x" });
  expect(stages.map(({ name, ms }) => `${name} ${ms}`)).toEqual([
    "silence, until the turn is over 352",
    "the sound reaches the person 240",
    "thought 5",
  ]);
  expect(timedStages(undefined)).toEqual([]);
  expect(totalText(592)).toBe("0.6 s");
});
