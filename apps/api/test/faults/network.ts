/** Faults of the network to the database, and of the names of its hosts. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { client, IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { type Network, startNetwork } from "@realtime-avatar/testing/network/network";
import { bun, runToEnd } from "@realtime-avatar/testing/processes";
import { cluster, DEADLINE_MS, runFault, SLACK_MS, terminateBackends } from "./support/scene.ts";
import { notOnCitus } from "./support/server.ts";

describe("the network to the database", () => {
  let network: Network;
  beforeAll(async () => {
    network = await startNetwork(cluster.port);
  });
  afterAll(() => network.close());
  const reach = (url: string): string => url.replace(String(cluster.port), String(network.port));

  test("the network, delayed: no lost or doubled row", async () => {
    await runFault(
      "network delayed by 100 ms",
      async ({ load }) => {
        network.delayMs = 100;
        await load.untilSuccesses(100);
        network.delayMs = 0;
        load.healed();
      },
      { reach },
    );
  });

  test("the network, cut within responses: no lost or doubled row", async () => {
    const row = await runFault(
      "network cut within responses, 20 times",
      async ({ load }) => {
        for (let round = 0; round < 20; round++) {
          network.cutResponses = true;
          await load.untilFailure();
          network.cutResponses = false;
          load.healed();
          await load.untilSuccesses(10);
        }
      },
      { reach },
    );
    expect(row.unknown).toBeGreaterThan(0);
  });

  test("the network, half-open: lost connections are replaced", async () => {
    await runFault(
      "network half-open",
      async ({ load }) => {
        network.loseExisting();
        load.healed();
        await load.untilSuccesses(100);
        network.endLost();
      },
      // Each lane can have a request in a lost batch, for which it waits until its deadline.
      { reach, lanes: 40, backMs: DEADLINE_MS + SLACK_MS },
    );
  });

  test("the network, gone beyond the deadline: no lost or doubled row", async () => {
    await runFault(
      "network gone for 5 s",
      async ({ load }) => {
        network.isLost = true;
        await Bun.sleep(5000);
        network.isLost = false;
        network.cut();
        load.healed();
      },
      { reach },
    );
  });
});

describe.skipIf(!IS_ONE_DATABASE)(`a list of hosts${notOnCitus("a node has one host")}`, () => {
  // `.invalid` is never a valid name (RFC 2606).
  const reach = (url: string): string => url.replace("127.0.0.1", "database.invalid:5432,127.0.0.1");

  test("a list of hosts, its first name unknown: each new connection goes to the next", async () => {
    await runFault(
      "first host unresolvable, connections lost 5 times",
      async ({ load, databaseUrl }) => {
        const sql = client(databaseUrl);
        for (let round = 0; round < 5; round++) {
          await terminateBackends(sql);
          load.healed();
          await load.untilSuccesses(50);
        }
        await sql.end();
        // The command line reaches the database as well.
        const { code, stderr } = await runToEnd(bun("apps/cli/src/main.ts", "migrate"), {
          DATABASE_URL: reach(databaseUrl),
        });
        expect([code, stderr]).toEqual([0, ""]);
      },
      { reach },
    );
  });

  test("a list of hosts, its first name unknown and the next down: refused, then served", async () => {
    const row = await runFault(
      "first host unresolvable, the next one stopped",
      async ({ load }) => {
        await cluster.stopAtOnce();
        await load.untilFailure();
        await Bun.sleep(500);
        await cluster.start();
        load.healed();
      },
      { reach },
    );
    expect(row.refused).toBeGreaterThan(0);
  });
});
