import { expect, test } from "bun:test";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { createOverdueSweep } from "./overdue-sessions.ts";

const { db } = await fileDatabase();

test("a request, refused before a sweep ended: is told that it has; one that was refused later: is not", async () => {
  const sweep = createOverdueSweep(null);
  const tenantId = await seedTenant(db);
  const before = performance.now();
  const [first, second] = [1, 2].map(() => sweep(db, tenantId, operatorOrigin(), before));
  expect([await first, await second]).toEqual([true, true]);
  // It was refused while the sweep ran, and asks when it has ended.
  expect(await sweep(db, tenantId, operatorOrigin(), before)).toBe(true);
  expect(await sweep(db, tenantId, operatorOrigin(), performance.now())).toBe(false);
});
