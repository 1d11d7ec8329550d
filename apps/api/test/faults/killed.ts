/** Faults of a service that is killed and started again, alone or together with its client. */
import { expect, test } from "bun:test";
import { createClient } from "@realtime-avatar/client";
import { client } from "@realtime-avatar/testing/database";
import { freePort } from "@realtime-avatar/testing/network/ports";
import { until } from "@realtime-avatar/testing/until";
import { seedCredits } from "./support/credits.ts";
import { startLoad } from "./support/history.ts";
import { cluster, DEADLINE_MS, rows, seedRoot, services, startService, terminateBackends } from "./support/scene.ts";

test("the service, killed and started eight times: no lost or doubled row", async () => {
  const databaseUrl = await cluster.newDatabase();
  const [rootKey, credits] = [await seedRoot(databaseUrl), await seedCredits(databaseUrl)];
  const PORT = String(await freePort());
  let service = await startService(databaseUrl, { PORT });
  const load = startLoad("service killed, 8 times", { urls: [service.url], rootKey, credits, isKilled: true });
  for (let round = 0; round < 8; round++) {
    await load.untilSuccesses(100);
    service.kill("SIGKILL");
    await service.exited;
    service = await startService(databaseUrl, { PORT });
    load.healed();
  }
  await load.untilSuccesses(100);
  const { row, violations } = await load.finish(databaseUrl, service.stdout() + service.stderr());
  rows.push({ ...row, memory: "-" });
  expect(violations.slice(0, 10)).toEqual([]);
  expect([row.lost, row.duplicated]).toEqual([0, 0]);
  expect([row.unknown > 0, row.opened > 0, row.declined > 0]).toEqual([true, true, true]);
});

test("the client, service killed and connections lost: each avatar is created once", async () => {
  const databaseUrl = await cluster.newDatabase();
  const apiKey = await seedRoot(databaseUrl);
  const PORT = String(await freePort());
  let service = await startService(databaseUrl, { PORT });
  const calls = createClient({ baseUrl: service.url, apiKey, maxAttempts: 100, attemptTimeoutMs: 2 * DEADLINE_MS });
  const wanted = Array.from({ length: 1500 }, (_, index) => `by the client ${index}`);
  const queue = [...wanted];
  const made = new Map<string, string>();
  const creating = Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
        const body = { displayName: name, sourceKind: "image" } as const;
        made.set(name, (await calls.POST("/api/v1/avatars", { body })).data.id);
      }
    }),
  );
  const sql = client(databaseUrl);
  const untilMade = async (count: number): Promise<void> => {
    await until(() => made.size >= count, { pollMs: 5 });
  };
  for (let round = 1; round <= 6; round++) {
    await untilMade(round * 200);
    if (round % 2 === 0) {
      await terminateBackends(sql);
      continue;
    }
    service.kill("SIGKILL");
    await service.exited;
    services.delete(service);
    service = await startService(databaseUrl, { PORT });
  }
  await creating;
  const found = await sql<{ id: string; displayName: string }[]>`select id, display_name as "displayName" from avatars`;
  await sql.end();
  expect(found.length).toBe(wanted.length);
  expect(new Map(found.map(({ id, displayName }) => [displayName, id]))).toEqual(made);
});
