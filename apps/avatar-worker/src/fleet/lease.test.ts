/** How long a worker may be in its rooms. */
import { expect, test } from "bun:test";
import { until } from "@realtime-avatar/testing/until";
import { createLease } from "./lease.ts";

test("a lease: begins when its sync is sent; before the first sync, no lease is held", () => {
  const lease = createLease(() => {});
  expect([lease.isHeld(), lease.restMs() > 0]).toEqual([false, false]);
  lease.renew(performance.now() - 10_000, 15);
  expect(lease.isHeld()).toBe(true);
  expect(lease.restMs()).toBeWithin(0, 5001);
  lease.renew(performance.now() - 20_000, 15);
  expect(lease.isHeld()).toBe(false);
  lease.stop();
});

test("the end of a lease: reported once for each expired lease, and not after the stop", async () => {
  let ends = 0;
  const lease = createLease(() => ends++);
  for (let count = 0; count < 5; count++) lease.renew(performance.now(), 0.4);
  lease.renew(performance.now(), 60);
  await Bun.sleep(450);
  expect(ends).toBe(0);
  lease.renew(performance.now(), 0.02);
  await until(() => ends > 0, { pollMs: 5 });
  // The response came too late: the lease has ended. Its end is reported.
  lease.renew(performance.now() - 1000, 0.5);
  await Bun.sleep(20);
  expect([ends, lease.isHeld()]).toEqual([2, false]);
  lease.renew(performance.now(), 0.01);
  lease.stop();
  await Bun.sleep(30);
  expect(ends).toBe(2);
});

test("a lease that ends while its process is stopped, renewed before any timer runs: its end is reported", () => {
  let ends = 0;
  const lease = createLease(() => ends++);
  lease.renew(performance.now(), 0.005);
  Bun.sleepSync(10);
  expect(ends).toBe(0);
  lease.renew(performance.now(), 60);
  expect([ends, lease.isHeld()]).toEqual([1, true]);
  lease.stop();
});
