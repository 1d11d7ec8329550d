import { expect, test } from "bun:test";
import { withSpan } from "./request-limit.ts";

test("work with tracing: records a span with name, start and error; without tracing: records none", async () => {
  const spans: [string, number, unknown][] = [];
  const limit = {
    deadline: 0,
    recordSpan: (name: string, startedAt: number, error: unknown) => {
      spans.push([name, startedAt, error]);
    },
  };
  const before = performance.now();
  expect(await withSpan("read", limit, async () => 1)).toBe(1);
  const error = new Error("lost");
  expect(await withSpan("write", limit, () => Promise.reject(error)).catch((thrown) => thrown)).toBe(error);
  expect(spans).toEqual([
    ["read", expect.any(Number), undefined],
    ["write", expect.any(Number), error],
  ]);
  for (const [, startedAt] of spans) expect(startedAt).toBeGreaterThanOrEqual(before);
  expect(await withSpan("read", { deadline: 0 }, async () => 2)).toBe(2);
  expect(spans).toHaveLength(2);
});
