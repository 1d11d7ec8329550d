import { expect, test } from "bun:test";
import { isValid } from "@realtime-avatar/domain/schema";
import { createTurnClock, TURN_STAGES, TurnTimings, totalMs } from "./turn-timings.ts";

test("the stages of a turn, with fractions: they add up to the whole time", () => {
  let now = 100.4;
  const clock = createTurnClock(() => now);
  for (const stage of TURN_STAGES) {
    now += 33.34;
    clock.mark(stage);
  }
  expect(totalMs(clock.timings())).toBe(Math.round(6 * 33.34));
  expect(Object.keys(clock.timings())).toEqual([...TURN_STAGES]);
});

test("a stage marked twice, or before its predecessor: the first mark counts, and no stage is negative", () => {
  const clock = createTurnClock(() => 50, 0);
  clock.mark("end_of_turn");
  clock.mark("end_of_turn", 80);
  clock.mark("text", 20);
  expect(clock.timings()).toEqual({ end_of_turn: 50, text: 0 });
});

test("a stage that lasts a day: cut to 600 seconds, the maximum in a message", () => {
  const clock = createTurnClock(() => 86_400_000, 0);
  clock.mark("first_token");
  expect(clock.timings()).toEqual({ first_token: 600_000 });
  expect(isValid(TurnTimings, clock.timings())).toBe(true);
  for (const invalid of [{ heard: -1 }, { heard: 0.5 }, { heard: 600_001 }, { heard: Number.NaN }, { other: 1 }]) {
    expect(isValid(TurnTimings, invalid)).toBe(false);
  }
});
