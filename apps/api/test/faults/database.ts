/** Faults of the database: stopped, cut off, frozen, or locked. */
import { describe, expect, test } from "bun:test";
import { client, IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { CONNECTIONS, cluster, holdLock, runFault, terminateBackends } from "./support/scene.ts";
import { findCoordinator } from "./support/server.ts";

describe("the database", () => {
  test("the database, stopped and started three times: no lost, doubled or half-written row", async () => {
    const row = await runFault("database stopped at once, 3 times", async ({ load }) => {
      for (let round = 0; round < 3; round++) {
        await cluster.stopAtOnce();
        await load.untilFailure();
        await Bun.sleep(500);
        await cluster.start();
        load.healed();
        await load.untilSuccesses(100);
      }
    });
    // Without a server, requests are certainly not executed.
    expect(row.refused).toBeGreaterThan(row.unknown);
  });

  test("the database, its backends terminated one by one: no lost or doubled row", async () => {
    await runFault("backends terminated, one by one", async ({ load, databaseUrl }) => {
      const sql = client(databaseUrl);
      for (let round = 0; round < 100; round++) {
        await terminateBackends(sql, 1);
        await Bun.sleep(10);
      }
      load.healed();
      await sql.end();
    });
  });

  test("the database, frozen beyond the deadline: no lost or doubled row", async () => {
    await runFault("database frozen for 5 s", async ({ load }) => {
      await cluster.freeze();
      await Bun.sleep(5000);
      await cluster.thaw();
      load.healed();
    });
  });

  test.skipIf(IS_ONE_DATABASE)("the coordinator of Citus, killed and started: no failed request", async () => {
    const row = await runFault("coordinator of Citus killed", async ({ load, databaseUrl }) => {
      const coordinator = findCoordinator(databaseUrl);
      await coordinator?.kill();
      await load.untilSuccesses(500);
      await coordinator?.start();
      load.healed();
    });
    expect([row.refused, row.unknown]).toEqual([0, 0]);
  });
});

test("a lock, held beyond the deadline: abandoned statements are stopped at the server", async () => {
  let most = 0;
  await runFault("table locked for 6 s", async (scene) => {
    most = await holdLock(scene);
  });
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(2 * CONNECTIONS);
});
