/** Nodes that are killed while a shard moves between them, under load: see `packages/testing/src/postgres/citus.ts`. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { openDatabase } from "@realtime-avatar/db/open";
import { verifySchema } from "@realtime-avatar/db/shards/verify";
import { client } from "@realtime-avatar/testing/database";
import { CITUS_BIN } from "@realtime-avatar/testing/postgres/citus";
import { until } from "@realtime-avatar/testing/until";
import { type Installation, startInstallation } from "../support/shards/installation.ts";
import { startLoad } from "../support/shards/load.ts";

const installation = CITUS_BIN === undefined ? null : await startInstallation(CITUS_BIN, 2);
const { coordinator, placement, nodeAt, otherPort, move } = installation ?? ({} as Installation);
setDefaultTimeout(600_000);

/** Waits until `text` finds a row on a node. */
const untilFound = async (url: string, text: string): Promise<void> => {
  const own = client(url);
  await own.unsafe("set citus.override_table_visibility = off");
  await until(async () => (await own.unsafe(text)).length > 0, { pollMs: 5 });
  await own.end();
};

/** The findings of `verify`. */
const verify = async (): Promise<string[]> => {
  const config = { databaseUrl: coordinator, dataDirectory: "", deadlineMs: 30_000, connections: 4, prepare: true };
  const opened = await openDatabase({ ...config, isByNode: true }, { refreshMs: null });
  const findings = await verifySchema(opened.databases, opened.server);
  await opened.databases.close();
  return findings.map(({ place, problem }) => `${place}: ${problem}`);
};

/** When the node is killed: during the copy of the tables, or while the copy catches up with new writes. */
const PHASES = {
  made: "select 1 from pg_class where relnamespace = to_regnamespace('s01') and relname ~ '^tenants_[0-9]+$'",
  "kept up to date": "select 1 from pg_subscription_rel where srsubstate in ('s', 'r')",
};

describe.skipIf(installation === null)("a node that is killed during a move, under load", () => {
  test.each([
    ["source", "made"],
    ["target", "made"],
    ["source", "kept up to date"],
    ["target", "kept up to date"],
  ] as const)(
    "the %s, while the copy is %s: nothing lost, doubled or accepted late; the next move succeeds",
    async (role, phase) => {
      const load = await startLoad(installation as Installation, 1);
      await load.more(50);
      const [, from = 0] = await placement();
      const to = otherPort(from);
      const victim = nodeAt(role === "source" ? from : to).server;
      const outcome = move(1, to).then(
        () => "moved",
        () => "failed",
      );
      await untilFound(nodeAt(to).url, PHASES[phase]);
      await victim.kill();
      const hasMoved = (await outcome) === "moved";
      const findings = await verify();
      expect(findings).toContain(`node 127.0.0.1:${victim.port}: it does not respond`);
      if (role === "target") {
        expect(findings).toContainEqual(expect.stringContaining("a move was interrupted"));
        // The shard is at its old node, so requests succeed.
        await load.more(50);
      }
      await victim.start();
      await load.more(50);
      const [, after = 0] = await placement();
      expect(after).toBe(hasMoved ? to : from);
      await move(1, otherPort(after));
      expect((await placement())[1]).toBe(otherPort(after));
      await load.more(50);
      const { statuses, ...wrong } = await load.stop();
      expect(wrong).toEqual({ lost: [], doubled: [], unsent: [], accepted: [], charged: [0, 0] });
      expect(statuses).toEqual(role === "target" ? [200, 201] : [200, 201, 503]);
      expect(await verify()).toEqual([]);
    },
  );
});
