/** The number of attempts, and their end. */
import { expect, test } from "bun:test";
import { retryWhileStale } from "./retry-while-stale.ts";

type Outcome = { kind: "stale" } | { kind: "written"; id: number };

/** An attempt that is stale `count` times, and then written. */
const staleFor = (count: number) => {
  let attempts = 0;
  return async (): Promise<Outcome> => (attempts++ < count ? { kind: "stale" } : { kind: "written", id: attempts });
};

test("an attempt that is stale up to 19 times: returns the first other outcome", async () => {
  expect(await retryWhileStale(staleFor(0))).toEqual({ kind: "written", id: 1 });
  expect(await retryWhileStale(staleFor(19))).toEqual({ kind: "written", id: 20 });
});

test("an attempt that is stale 20 times: 503, retryable", async () => {
  await expect(retryWhileStale(staleFor(20))).rejects.toMatchObject({
    code: "unavailable",
    extras: { retryable: true },
  });
});

test("an attempt that throws: not repeated", async () => {
  let attempts = 0;
  const failing = async (): Promise<Outcome> => {
    attempts++;
    throw new Error("the database failed");
  };
  await expect(retryWhileStale(failing)).rejects.toThrow("the database failed");
  expect(attempts).toBe(1);
});
