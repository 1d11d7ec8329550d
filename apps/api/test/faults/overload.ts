/** Overload: more callers than the service can serve. */
import { expect, test } from "bun:test";
import { startNetwork } from "@realtime-avatar/testing/network/network";
import { cluster, runFault } from "./support/scene.ts";

test("too much load, above the queue: refused at once, and liveness responds throughout", async () => {
  const network = await startNetwork(cluster.port);
  const row = await runFault(
    "overload: 250 callers, 2 connections",
    async ({ load, service }) => {
      network.delayMs = 10;
      const end = performance.now() + 4000;
      while (performance.now() < end) {
        expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
        await Bun.sleep(20);
      }
      network.delayMs = 0;
      load.healed();
    },
    {
      reach: (url) => url.replace(String(cluster.port), String(network.port)),
      variables: { DATABASE_CONNECTIONS: "2" },
      lanes: 250,
      // Reports and releases are not batched. More of them would keep both connections busy.
      creditLanes: 3,
    },
  );
  network.close();
  expect(row.refused).toBeGreaterThan(0);
});
