import { expect, test } from "bun:test";
import { frameTimes } from "./video.ts";

test.each([
  [0, 10],
  [4, 6],
  [59.5, 60],
])("the frames of a video with pictures from %d s to %d s: the middle one, then one near each end", (from, to) => {
  const [middle = Number.NaN, ...others] = frameTimes({ shownFrom: from, shownTo: to });
  expect(middle).toBeCloseTo((from + to) / 2, 9);
  const [first = Number.NaN, last = Number.NaN] = others.toSorted((a, b) => a - b);
  expect(others).toHaveLength(2);
  expect([first - from, to - last].map((distance) => distance / (to - from))).toEqual([
    expect.closeTo(0.1, 9),
    expect.closeTo(0.1, 9),
  ]);
});
