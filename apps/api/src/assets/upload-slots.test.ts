import { expect, test } from "bun:test";
import { Problem } from "@realtime-avatar/domain/problem";
import { createUploadSlots } from "./upload-slots.ts";

const codeOf = (work: Promise<unknown>) => work.then(() => "done").catch((error: Problem) => error.code);

let clients = 0;
/** An upload of the tenant. By default, each tenant has its own client. */
const by = (tenantId: string | null, client = String(++clients)) => ({ tenantId, client });

test("an upload above the limit of its tenant: 429; above that of the process: 503", async () => {
  const slots = createUploadSlots(2, 3);
  const { promise: end, resolve } = Promise.withResolvers<void>();
  const running = ["a", "b", "c"].map((tenant) => slots.run(by(tenant), () => end));
  // Both limits are reached. The error is that of the tenant.
  expect(await codeOf(slots.run(by("a"), async () => {}))).toBe("rate_limited");
  for (const tenant of ["d", null]) expect(await codeOf(slots.run(by(tenant), async () => {}))).toBe("unavailable");
  resolve();
  await Promise.all(running);
  expect(await codeOf(slots.run(by("a"), async () => {}))).toBe("done");
});

test("slow uploads of four tenants, each at its limit: a fifth tenant still uploads", async () => {
  const slots = createUploadSlots();
  const { promise: end, resolve } = Promise.withResolvers<void>();
  const slow = Array.from({ length: 64 }, (_, at) => codeOf(slots.run(by("abcd"[at % 4] ?? ""), () => end)));
  for (const tenant of ["e", null]) expect(await codeOf(slots.run(by(tenant), async () => {}))).toBe("done");
  resolve();
  const outcomes = await Promise.all(slow);
  expect(outcomes.filter((outcome) => outcome === "done")).toHaveLength(32);
});

test("slow uploads of one client for many tenants: another client still uploads", async () => {
  const slots = createUploadSlots();
  const { promise: end, resolve } = Promise.withResolvers<void>();
  const slow = Array.from({ length: 64 }, (_, at) => codeOf(slots.run(by(String(at), "slow"), () => end)));
  expect(await codeOf(slots.run(by("e"), async () => {}))).toBe("done");
  resolve();
  expect(new Set(await Promise.all(slow))).toEqual(new Set(["done", "rate_limited"]));
});

test("the slot of a failed upload: free again", async () => {
  const slots = createUploadSlots(1, 1);
  for (let times = 0; times < 3; times++) {
    const failing = slots.run(by("a"), async () => Promise.reject(new Problem("body_too_large", "x")));
    expect(await codeOf(failing)).toBe("body_too_large");
  }
});

test("the response to a refused upload: retryable after 5 seconds", async () => {
  const slots = createUploadSlots(0, 1);
  const refusal = await slots.run(by("a"), async () => {}).catch((error: Problem) => error.extras);
  expect(refusal).toEqual({ retryable: true, retryAfterSeconds: 5 });
});
