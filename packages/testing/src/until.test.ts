import { expect, test } from "bun:test";
import { until } from "./until.ts";

test("a value that the third check finds: returned; zero and an empty text are values", async () => {
  const values = [null, undefined, false, "found", "never"];
  expect(await until(() => values.shift(), { pollMs: 1 })).toBe("found");
  expect([await until(() => 0), await until(async () => "")]).toEqual([0, ""]);
});

test("a value that never exists: an error after the limit, with the name and the state, and no later check", async () => {
  let looks = 0;
  const wait = until(async () => ++looks < 0, { limitMs: 10, pollMs: 1, state: async () => ({ looks }) });
  await expect(wait).rejects.toThrow(
    /^Waited 0.01 s in vain for async \(\) => \+\+looks < 0\nState: {\s+looks: \d+,\s+}$/,
  );
  const { stack } = (await wait.catch((error) => error)) as Error;
  expect(stack).toContain(import.meta.file);
  const before = looks;
  await Bun.sleep(5);
  expect(looks).toBe(before);
});

test("a check that never ends, with an unreadable state: the error states both", async () => {
  const state = () => Promise.reject(new Error("closed"));
  const wait = until(() => new Promise<boolean>(() => {}), { limitMs: 1, state });
  await expect(wait).rejects.toThrow(/in vain for .*\nState: not readable: Error: closed$/);
});

test("a check that throws: its error", () =>
  expect(until(() => Promise.reject(new Error("no rows")))).rejects.toThrow("no rows"));
