/** Faults of a pair of servers: a lost synchronous replica, and a failover to the replica. */
import { expect, test } from "bun:test";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { client, IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { startCluster } from "@realtime-avatar/testing/postgres/cluster";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import type { CallOptions } from "../support/api.ts";
import { ask, runFault, seedRoot, startService } from "./support/scene.ts";
import { notOnCitus, startServer } from "./support/server.ts";

test("a lost synchronous replica: writes that it lacks are not acknowledged", async () => {
  const alone = await startServer();
  const databaseUrl = await alone.newDatabase();
  const rootKey = await seedRoot(databaseUrl);
  const service = await startService(databaseUrl, { REQUEST_TIMEOUT_MS: "500" });
  const call = (method: string, path: string, options: CallOptions = {}) =>
    ask(service, method, path, { key: rootKey, ...options });
  const made = await call("POST", "/api/v1/api-keys", { body: { name: "x", scopes: ["*"] } });
  const admin = client(alone.url("postgres"));
  const expectReplica = async (name: string): Promise<void> => {
    await admin.unsafe(`alter system set synchronous_standby_names = '${name}'`);
    await admin.unsafe("select pg_reload_conf()");
    // Each backend reads the setting before its next statement, so not all backends read it at the same time.
    await Bun.sleep(200);
  };
  await expectReplica("gone");
  const create = { body: { displayName: "x", sourceKind: "image" }, headers: { "idempotency-key": "the-same" } };
  for (let attempt = 0; attempt < 3; attempt++) {
    const revoked = await call("DELETE", `/api/v1/api-keys/${made.body.id}`);
    expect([revoked.status, revoked.body.code]).toEqual([503, "outcome_unknown"]);
    const created = await call("POST", "/api/v1/avatars", create);
    expect([created.status, created.body.code]).toEqual([503, "outcome_unknown"]);
    const reported = await call("POST", "/api/v1/leaked-keys", { body: { apiKey: made.body.apiKey } });
    expect([reported.status, reported.body.code]).toEqual([503, "outcome_unknown"]);
  }
  await expectReplica("");
  expect((await call("DELETE", `/api/v1/api-keys/${made.body.id}`)).status).toBe(200);
  expect((await call("POST", "/api/v1/avatars", create)).status).toBe(201);
  await admin.end();
  service.kill("SIGTERM");
  expect(await service.exited).toBe(0);
  await alone.close();
});

const oneHost = notOnCitus("a node has one host, and Citus is told of another");

test.skipIf(!IS_ONE_DATABASE)(`a failover, both hosts listed: writes go on at the new primary${oneHost}`, async () => {
  const folder = await temporaryFolder();
  const first = await startCluster({ data: join(folder, "a") });
  const databaseUrl = await first.newDatabase();
  const { pathname, password } = new URL(databaseUrl);
  await first.close();
  await Bun.$`cp -a ${join(folder, "a")} ${join(folder, "b")}`.quiet();
  await writeFile(join(folder, "b/postgres/standby.signal"), "");
  const { port } = first;
  const settings = { synchronous_standby_names: "*" };
  const primary = await startCluster({ data: join(folder, "a"), port, settings });
  const primary_conninfo = `host=127.0.0.1 port=${port} user=postgres password=${password}`;
  const standby = await startCluster({ data: join(folder, "b"), settings: { primary_conninfo } });
  const admin = client(primary.url("postgres"));
  await until(async () => (await admin`select 1 from pg_stat_replication where sync_state = 'sync'`).length > 0);
  await admin.end();
  const after = standby.url(pathname.slice(1));
  await runFault(
    "failover to a synchronous replica",
    async ({ load }) => {
      await primary.stopAtOnce();
      await load.untilFailure();
      const promoting = client(standby.url("postgres"));
      await promoting`select pg_promote()`;
      await promoting.end();
      load.healed();
    },
    {
      databaseUrl,
      // The server that accepts no writes comes first.
      reach: (url) => url.replace(`127.0.0.1:${port}`, `127.0.0.1:${standby.port},127.0.0.1:${port}`),
      after: () => after,
    },
  );
  await primary.close();
  await standby.close();
  await rm(folder, { recursive: true });
});
