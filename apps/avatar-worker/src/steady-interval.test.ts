import { expect, test } from "bun:test";
import { startSteadyInterval } from "./steady-interval.ts";

/** A clock with timers that are late by these times, in order. Returns when each step ran. */
const run = (lateMs: readonly number[], stepMs = 0): number[] => {
  let now = 0;
  let pending: { step: () => void; at: number } | null = null;
  const times: number[] = [];
  const later = (step: () => void, ms: number) => {
    pending = { step, at: now + ms };
    return () => {
      pending = null;
    };
  };
  const end = startSteadyInterval(
    40,
    () => {
      times.push(now);
      now += stepMs;
    },
    { now: () => now, later },
  );
  for (const late of lateMs) {
    const { step, at } = pending as unknown as { step: () => void; at: number };
    now = Math.max(now, at + late);
    step();
  }
  end();
  expect(pending).toBeNull();
  return times;
};

test("late timers and slow steps: the delays do not add up", () => {
  expect(run([1, 1, 5, 0, 12, 1], 15)).toEqual([41, 81, 125, 160, 212, 241]);
});

test("a timer that is late by more than two intervals: missed steps are skipped, and the next one is on time", () => {
  expect(run([0, 100, 0, 0])).toEqual([40, 180, 200, 240]);
});
