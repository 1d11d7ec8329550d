import { expect, test } from "bun:test";
import { Problem } from "@realtime-avatar/domain/problem";
import { createUploadSlots } from "./upload-slots.ts";

const codeOf = (work: Promise<unknown>) => work.then(() => "done").catch((error: Problem) => error.code);

test("the number of uploads in progress is limited for each tenant and for the process", async () => {
  const slots = createUploadSlots(2, 3);
  const { promise: end, resolve } = Promise.withResolvers<void>();
  const running = ["a", "a", "b"].map((tenant) => slots.run(tenant, () => end));
  // The limit of the tenant is named first.
  expect(await codeOf(slots.run("a", async () => {}))).toBe("rate_limited");
  for (const tenant of ["b", "c", null]) expect(await codeOf(slots.run(tenant, async () => {}))).toBe("unavailable");
  resolve();
  await Promise.all(running);
  expect(await codeOf(slots.run("a", async () => {}))).toBe("done");
});

test("an upload that fails gives its place back", async () => {
  const slots = createUploadSlots(1, 1);
  for (let times = 0; times < 3; times++) {
    const failing = slots.run("a", async () => Promise.reject(new Problem("body_too_large", "x")));
    expect(await codeOf(failing)).toBe("body_too_large");
  }
});

test("a refusal says when to try again", async () => {
  const slots = createUploadSlots(0, 1);
  const refusal = await slots.run("a", async () => {}).catch((error: Problem) => error.extras);
  expect(refusal).toEqual({ retryable: true, retryAfterSeconds: 5 });
});
