import { afterEach, beforeEach, expect, type Mock, spyOn, test } from "bun:test";
import { createMeter } from "./meter.ts";

let clock: Mock<() => number>;
beforeEach(() => {
  clock = spyOn(performance, "now").mockReturnValue(0);
});
afterEach(() => clock.mockRestore());

test("a burst: up to the limit at once", () => {
  const count = createMeter({ burst: 10, perSecond: 2 });
  for (let each = 0; each < 10; each++) count(1);
  expect(() => count(1)).toThrow("too much");
  expect(() => createMeter({ burst: 10, perSecond: 2 })(11)).toThrow("too much");
});

test("each second: room for the rate; a long pause: room for one burst", () => {
  const count = createMeter({ burst: 10, perSecond: 2 });
  count(10);
  clock.mockReturnValue(1000);
  count(2);
  expect(() => count(1)).toThrow("too much");
  clock.mockReturnValue(3_600_000);
  count(10);
  expect(() => count(1)).toThrow("too much");
});
