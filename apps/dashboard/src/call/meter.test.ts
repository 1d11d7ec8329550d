import { expect, test } from "bun:test";
import { newMeter } from "./meter.ts";

/** What the meter shows at each step: a time in seconds, and what the service says then. */
const shownAt = (steps: readonly (readonly [now: number, seconds: number | null, isRunning?: boolean])[]): number[] => {
  const meter = newMeter();
  return steps.map(([now, seconds, isRunning = true]) => meter(now * 1000, { seconds, isRunning }));
};

test("a call of some minutes, reported every ten seconds: each second is shown, and none goes back", () => {
  const steps = Array.from({ length: 400 }, (_, now) => [now, Math.floor(now / 10) * 10] as const);
  expect(shownAt(steps)).toEqual(steps.map(([now]) => now));
});

test("a call before it has begun, then ahead of the page, then without reports: what the service says, ten more at most", () => {
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

test("a call whose avatar is lost: does not count until it is back", () => {
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

test("a part of a second: counts whole as the service says it, and not before it has passed as the page counts it", () => {
  expect(
    shownAt([
      [100, 1.2],
      [100.9, 1.2],
      [101, 1.2],
    ]),
  ).toEqual([2, 2, 3]);
});
