import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { pause } from "./pause.ts";

test("a pause whose signal is aborted, before or during it: ends at once", async () => {
  const stopping = new AbortController();
  const running = pause(2 ** 30, stopping.signal);
  stopping.abort();
  await running;
  await pause(2 ** 30, stopping.signal);
});

test("thousands of pauses with one signal: nothing is kept", async () => {
  const { signal } = new AbortController();
  const objects = (): number => {
    Bun.gc(true);
    return heapStats().objectCount;
  };
  await pause(0, signal);
  const before = objects();
  for (let i = 0; i < 10_000; i++) await pause(0, signal);
  expect(objects() - before).toBeLessThan(1000);
});
