import { expect, test } from "bun:test";
import { newMeter } from "./meter.ts";

/** The values of the meter at each step: a time in seconds, and the service's count at that time. */
const shownAt = (steps: readonly (readonly [now: number, seconds: number | null, isRunning?: boolean])[]): number[] => {
  const meter = newMeter();
  return steps.map(([now, seconds, isRunning = true]) => meter(now * 1000, { seconds, isRunning }));
};

test("a call of some minutes, reported every ten seconds: every second is shown, and never a lower one", () => {
  const steps = Array.from({ length: 400 }, (_, now) => [now, Math.floor(now / 10) * 10] as const);
  expect(shownAt(steps)).toEqual(steps.map(([now]) => now));
});

test("a call before its start, then ahead of the page, then without reports: the service's count, and at most ten seconds more", () => {
  expect(
    shownAt([
      [0, null],
      [100, null],
      [101, 1],
      [103, 1],
      [104, 112],
      [106, 112],
      [500, 112],
      [501, 113],
    ]),
  ).toEqual([0, 0, 1, 3, 112, 114, 122, 122]);
});

test("a call whose avatar is lost: no counting until it is back", () => {
  expect(
    shownAt([
      [0, 20],
      [2, 20],
      [3, 20, false],
      [9, 20, false],
      [10, 20],
    ]),
  ).toEqual([20, 22, 22, 22, 23]);
});

test("a started second: shown if the service has counted it; on the page's own clock, only when it has passed", () => {
  expect(
    shownAt([
      [100, 1.2],
      [100.9, 1.2],
      [101, 1.2],
    ]),
  ).toEqual([2, 2, 3]);
});
