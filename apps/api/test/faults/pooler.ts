/** Faults behind a pooler in transaction mode (PgBouncer). */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { freePort } from "@realtime-avatar/testing/network/ports";
import { type RunningProcess, runToEnd, startProcess } from "@realtime-avatar/testing/processes";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { cluster, holdLock, possible, runFault } from "./support/scene.ts";
import { notOnCitus } from "./support/server.ts";

/** PgBouncer, if this machine has it: npm does not offer it. */
const PGBOUNCER = Bun.which("pgbouncer");
const POOLED = 6;

const hasPooler = possible("a pooler in transaction mode", PGBOUNCER !== null, "there is no pgbouncer");

const unsupported = notOnCitus("PgBouncer is not supported between the service and nodes");

describe.skipIf(!hasPooler || !IS_ONE_DATABASE)(`a pooler in transaction mode${unsupported}`, () => {
  let folder = "";
  let port = 0;
  let pooler: RunningProcess;
  const start = async (): Promise<RunningProcess> => {
    // Like PostgreSQL, it refuses to run as root.
    const user = process.getuid?.() === 0 ? ["-u", "postgres"] : [];
    const running = startProcess([PGBOUNCER ?? "", ...user, join(folder, "pgbouncer.ini")]);
    await running.waitFor(/listening on 127/);
    return running;
  };
  beforeAll(async () => {
    folder = await temporaryFolder();
    port = await freePort();
    const { password } = new URL(cluster.url("postgres"));
    // No start parameter of clients is ignored.
    const ini = `
[databases]
* = host=127.0.0.1 port=${cluster.port} user=postgres password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${POOLED}
server_idle_timeout = 2
max_client_conn = 200
ignore_startup_parameters =
`;
    await writeFile(join(folder, "pgbouncer.ini"), ini);
    pooler = await start();
  });
  afterAll(async () => {
    pooler.kill("SIGKILL");
    await pooler.exited;
    await rm(folder, { recursive: true });
  });

  test("a pooler, under the tests of the API: all pass", async () => {
    const files = [
      "test/e2e/routes",
      "src/http/authenticate",
      "src/api-keys/api-keys",
      "test/e2e/api-keys-read",
      "test/e2e/api-keys-change",
      "test/e2e/api-keys-revoke",
      "test/e2e/api-keys-rotate",
      "test/e2e/api-keys-quota",
      "src/avatars/avatars",
      "test/e2e/avatars-read",
      "test/e2e/avatars-change",
      "test/e2e/avatars-concurrency",
      "test/e2e/idempotency",
      "src/audit/audit-events",
    ];
    const { code, stdout, stderr } = await runToEnd(
      [process.execPath, "test", ...files.map((name) => `apps/api/${name}.test.ts`)],
      { DATABASE_URL: cluster.url("postgres"), TEST_POOLER_PORT: String(port) },
    );
    expect([code, (stdout + stderr).match(/^\(fail\).*|^ *0 pass.*/gm)]).toEqual([0, null]);
  });

  test("a pooler, statements abandoned: each is stopped at the server", async () => {
    let most = 0;
    await runFault(
      "table locked for 6 s, behind a pooler",
      async (scene) => {
        most = await holdLock(scene);
      },
      { reach: (url) => url.replace(String(cluster.port), String(port)), variables: { PREPARED_STATEMENTS: "false" } },
    );
    // Connections: at most those of the pooler, plus those of running cancellations. Abandoned statements do not add
    // up.
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(2 * POOLED);
  });

  test("a pooler, killed and started again: no lost or doubled row", async () => {
    await runFault(
      "pooler killed and started again",
      async ({ load }) => {
        pooler.kill("SIGKILL");
        await pooler.exited;
        await load.untilFailure();
        pooler = await start();
        load.healed();
      },
      {
        reach: (url) => url.replace(String(cluster.port), String(port)),
        variables: { PREPARED_STATEMENTS: "false" },
      },
    );
  });
});
