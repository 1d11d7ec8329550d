import { expect, test } from "bun:test";
import { Progress } from "./progress.ts";

/** How often `round` runs in a part of so many seconds. */
const roundsOf = async (seconds: number, count: number | null, reservedSeconds = 0): Promise<number> => {
  const progress = new Progress({ part: seconds });
  progress.begin("part");
  let rounds = 0;
  await progress.rounds(count, reservedSeconds, async () => {
    rounds++;
    await Bun.sleep(20);
  });
  return rounds;
};

test("rounds without a count: as many as fit into the time of the part, and at least one", async () => {
  expect(await roundsOf(0, null)).toBe(1);
  expect(await roundsOf(600, null, 600)).toBe(1);
  expect(await roundsOf(0.5, null)).toBeGreaterThan(1);
});

test("rounds with a count: so many, whatever the time of the part", async () => {
  expect(await roundsOf(0, 3)).toBe(3);
});
