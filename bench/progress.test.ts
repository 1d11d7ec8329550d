import { expect, test } from "bun:test";
import { Progress } from "./progress.ts";

/** The number of rounds of 20 ms in a part of `seconds`. */
const roundsOf = async (seconds: number, count: number | null, reservedSeconds = 0): Promise<number> => {
  let milliseconds = 0;
  const progress = new Progress({ part: seconds }, () => milliseconds);
  progress.begin("part");
  let rounds = 0;
  await progress.rounds(count, reservedSeconds, async () => {
    rounds++;
    milliseconds += 20;
  });
  return rounds;
};

test("rounds without a count: as many as fit into the time of the part, at least one", async () => {
  expect(await roundsOf(0, null)).toBe(1);
  expect(await roundsOf(600, null, 600)).toBe(1);
  expect(await roundsOf(0.5, null)).toBe(25);
});

test("rounds with a count: this number, whatever the time of the part", async () => {
  expect(await roundsOf(0, 3)).toBe(3);
});
