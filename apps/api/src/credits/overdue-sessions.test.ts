import { expect, test } from "bun:test";
import { join } from "node:path";
import { preparedDataDirectory } from "@realtime-avatar/testing/database";
import { fileDatabase, fileFolder } from "@realtime-avatar/testing/fixture";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { start, stop } from "../../test/support/process.ts";
import { createOverdueSweep } from "./overdue-sessions.ts";

const { db } = await fileDatabase();
const folder = await fileFolder();

test("a request, refused before the end of a sweep: true; refused after it: false", async () => {
  const sweep = createOverdueSweep(null);
  const tenantId = await seedTenant(db);
  const before = performance.now();
  const [first, second] = [1, 2].map(() => sweep(db, tenantId, operatorOrigin(), before));
  expect([await first, await second]).toEqual([true, true]);
  // This request was refused during the sweep, and calls after the end of the sweep.
  expect(await sweep(db, tenantId, operatorOrigin(), before)).toBe(true);
  expect(await sweep(db, tenantId, operatorOrigin(), performance.now())).toBe(false);
});

test("a service on its embedded database, without a setting: closes overdue sessions by itself", async () => {
  const DATA_DIR = await preparedDataDirectory(join(folder, "data"));
  const running = await start({ DATA_DIR, WORKER: "false", LIVEKIT_EMBEDDED: "off", METRICS_PORT: "0" });
  const [, metrics = ""] = await running.waitFor(/"metrics":"(http:[^"]+)"/);
  expect(await (await fetch(metrics)).text()).toContain("realtime_avatar_sessions_swept_total 0");
  expect(await stop(running)).toBe(0);
});
