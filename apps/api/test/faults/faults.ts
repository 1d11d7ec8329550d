/**
 * What can go wrong around the service, done to it while it works: `bun run test:faults`. Real processes, a real
 * PostgreSQL with its default durability, concurrent creates, and in the end a comparison of each answer with what is in
 * the database. Prints a table.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmdirSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@realtime-avatar/client";
import { freePort } from "@realtime-avatar/db/embedded-testing";
import { client, random, temporaryFolder } from "@realtime-avatar/db/testing";
import { generateApiKey } from "@realtime-avatar/domain/api-key-secret";
import { bun, type RunningProcess, runToEnd, startProcess } from "@realtime-avatar/runtime/testing";
import { readAnswer, requestInit } from "../support/api.ts";
import { startCluster } from "./cluster.ts";
import { startLoad } from "./history.ts";
import { type Network, startNetwork } from "./proxy.ts";
import {
  CONNECTIONS,
  cluster,
  DEADLINE_MS,
  possible,
  rows,
  type Scene,
  SLACK_MS,
  seedRoot,
  services,
  startService,
  under,
} from "./scene.ts";
import "./settings.ts";
import "./process.ts";
import "./preloaded.ts";

describe("the service", () => {
  test("killed and started again, many times", async () => {
    const databaseUrl = await cluster.newDatabase();
    const rootKey = await seedRoot(databaseUrl);
    const PORT = String(await freePort());
    let service = await startService(databaseUrl, { PORT });
    const load = startLoad("service killed, 8 times", [service.url], rootKey, { isKilled: true });
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
    expect(row.unknown).toBeGreaterThan(0);
  });
});

describe("the database", () => {
  test("stopped at once, and started again", async () => {
    const row = await under("database stopped at once, 3 times", async ({ load }) => {
      for (let round = 0; round < 3; round++) {
        await cluster.stopAtOnce();
        await load.untilFailure();
        await Bun.sleep(500);
        await cluster.start();
        load.healed();
        await load.untilSuccesses(100);
      }
    });
    // Without a server, it is certain that nothing was executed.
    expect(row.refused).toBeGreaterThan(row.unknown);
  });

  test("its backends terminated one by one", async () => {
    await under("backends terminated, one by one", async ({ load, databaseUrl }) => {
      const sql = client(databaseUrl);
      for (let round = 0; round < 100; round++) {
        await sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name = 'realtime-avatar' and pid <> pg_backend_pid()
          order by state = 'active' desc, random() limit 1`;
        await Bun.sleep(10);
      }
      load.healed();
      await sql.end();
    });
  });

  test("frozen for longer than the deadline", async () => {
    await under("database frozen for 5 s", async ({ load }) => {
      await cluster.freeze();
      await Bun.sleep(5000);
      await cluster.thaw();
      load.healed();
    });
  });
});

/**
 * Locks a table that every create writes, for longer than the deadline; answers with the most backends that ran something
 * for the service meanwhile.
 */
const holdLock = async ({ load, databaseUrl }: Scene): Promise<number> => {
  const [holder, observer] = [client(databaseUrl), client(databaseUrl)];
  await holder`begin`;
  await holder`lock table audit_events in exclusive mode`;
  let most = 0;
  for (const end = performance.now() + 3 * DEADLINE_MS; performance.now() < end; await Bun.sleep(20)) {
    const [row] = await observer<{ count: number }[]>`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and state = 'active' and wait_event_type = 'Lock'`;
    most = Math.max(most, row?.count ?? 0);
  }
  await holder`rollback`;
  load.healed();
  await Promise.all([holder.end(), observer.end()]);
  return most;
};

describe("a lock that somebody holds", () => {
  test("for longer than the deadline: what is given up is stopped at the server", async () => {
    let most = 0;
    await under("table locked for 6 s", async (scene) => {
      most = await holdLock(scene);
    });
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(2 * CONNECTIONS);
  });
});

describe("a synchronous replica that goes away", () => {
  test("leaves nothing acknowledged that it does not have: a revocation is not, until it is", async () => {
    const alone = await startCluster();
    const databaseUrl = await alone.newDatabase();
    const rootKey = await seedRoot(databaseUrl);
    const service = await startService(databaseUrl, { REQUEST_TIMEOUT_MS: "500" });
    const ask = async (method: string, path: string, options: Parameters<typeof requestInit>[1]) =>
      readAnswer(await fetch(service.url + path, requestInit(method, { key: rootKey, ...options })));
    const made = await ask("POST", "/api/v1/api-keys", { body: { name: "x", scopes: ["*"] } });
    const admin = client(alone.url("postgres"));
    const expectReplica = async (name: string): Promise<void> => {
      await admin.unsafe(`alter system set synchronous_standby_names = '${name}'`);
      await admin.unsafe("select pg_reload_conf()");
      // Each backend reads it before its next statement; the one that is told first is not the last.
      await Bun.sleep(200);
    };
    await expectReplica("gone");
    const create = { body: { displayName: "x", sourceKind: "image" }, headers: { "idempotency-key": "the-same" } };
    for (let attempt = 0; attempt < 3; attempt++) {
      const revoked = await ask("DELETE", `/api/v1/api-keys/${made.body.id}`, {});
      expect([revoked.status, revoked.body.code]).toEqual([503, "outcome_unknown"]);
      const created = await ask("POST", "/api/v1/avatars", create);
      expect([created.status, created.body.code]).toEqual([503, "outcome_unknown"]);
      const reported = await ask("POST", "/api/v1/leaked-keys", { body: { apiKey: made.body.apiKey } });
      expect([reported.status, reported.body.code]).toEqual([503, "outcome_unknown"]);
    }
    await expectReplica("");
    expect((await ask("DELETE", `/api/v1/api-keys/${made.body.id}`, {})).status).toBe(200);
    expect((await ask("POST", "/api/v1/avatars", create)).status).toBe(201);
    await admin.end();
    service.kill("SIGTERM");
    expect(await service.exited).toBe(0);
    await alone.close();
  });
});

describe("the network to the database", () => {
  let network: Network;
  beforeAll(async () => {
    network = await startNetwork(cluster.port);
  });
  afterAll(() => network.close());
  const reach = (url: string): string => url.replace(String(cluster.port), String(network.port));

  test("delayed", async () => {
    await under(
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

  test("cut in the middle of answers", async () => {
    const row = await under(
      "network cut within answers, 20 times",
      async ({ load }) => {
        for (let round = 0; round < 20; round++) {
          network.cutAnswers = true;
          await load.untilFailure();
          network.cutAnswers = false;
          load.healed();
          await load.untilSuccesses(10);
        }
      },
      { reach },
    );
    expect(row.unknown).toBeGreaterThan(0);
  });

  test("half-open: connections that are there are lost without a word", async () => {
    await under(
      "network half-open",
      async ({ load }) => {
        network.loseThose();
        load.healed();
        await load.untilSuccesses(100);
        network.forgetThose();
      },
      // All who ask may be in the batches that are lost, and wait for them until their deadline.
      { reach, lanes: 40, backMs: DEADLINE_MS + SLACK_MS },
    );
  });

  test("gone for longer than the deadline", async () => {
    await under(
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

describe("a list of hosts", () => {
  // `.invalid` is no name anywhere (RFC 2606).
  const reach = (url: string): string => url.replace("127.0.0.1", "database.invalid:5432,127.0.0.1");

  test("whose first name cannot be resolved: each new connection goes to the next", async () => {
    await under(
      "first host unresolvable, connections lost 5 times",
      async ({ load, databaseUrl }) => {
        const sql = client(databaseUrl);
        for (let round = 0; round < 5; round++) {
          await sql`
            select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and application_name = 'realtime-avatar' and pid <> pg_backend_pid()`;
          load.healed();
          await load.untilSuccesses(50);
        }
        await sql.end();
        // The command line gets there as well.
        const { code, stderr } = await runToEnd(bun("apps/api/src/cli.ts", "migrate"), {
          DATABASE_URL: reach(databaseUrl),
        });
        expect([code, stderr]).toEqual([0, ""]);
      },
      { reach },
    );
  });

  test("whose first name cannot be resolved, while the next host is down", async () => {
    const row = await under(
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

describe("a failover", () => {
  test("to a synchronous replica, with both hosts given", async () => {
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
    while ((await admin`select 1 from pg_stat_replication where sync_state = 'sync'`).length === 0) await Bun.sleep(10);
    await admin.end();
    const after = standby.url(pathname.slice(1));
    await under(
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
        // The one that takes no writes comes first.
        reach: (url) => url.replace(`127.0.0.1:${port}`, `127.0.0.1:${standby.port},127.0.0.1:${port}`),
        after: () => after,
      },
    );
    await primary.close();
    await standby.close();
    await rm(folder, { recursive: true });
  });
});

/** Whether this user may mount a small file system, so that a disk can be full. */
const canMount = ((): boolean => {
  const folder = mkdtempSync(join(tmpdir(), "realtime-avatar-test-"));
  const mounted = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder]).exitCode === 0;
  if (mounted) Bun.spawnSync(["umount", folder]);
  rmdirSync(folder);
  return mounted;
})();

const fillDisk = async (disk: string): Promise<void> => {
  const settings = { max_wal_size: "32MB", min_wal_size: "32MB" };
  const small = await startCluster({ data: join(disk, "data"), settings });
  const ballast = join(disk, "ballast");
  await under(
    "disk full",
    async ({ load, databaseUrl }) => {
      await Bun.$`dd if=/dev/zero of=${ballast} bs=64k`.quiet().nothrow();
      await load.untilFailure();
      // Without a next segment of its log, the server gives up, and with it every connection.
      const sql = client(databaseUrl);
      await sql`select pg_switch_wal()`.catch(() => {});
      await Bun.sleep(1000);
      await sql.end({ timeout: 0 });
      await rm(ballast);
      if (!(await small.isRunning())) await small.start();
      const probe = client(small.url("postgres"));
      while ((await probe`select 1`.catch(() => [])).length === 0) await Bun.sleep(10);
      await probe.end();
      load.healed();
    },
    { databaseUrl: await small.newDatabase() },
  );
  await small.close();
};

describe("a server without room", () => {
  test.skipIf(!possible("disk full", canMount, "this user may not mount a tmpfs"))("its disk full", async () => {
    const disk = await temporaryFolder();
    await Bun.$`mount -t tmpfs -o size=160m,mode=755 none ${disk}`.quiet();
    try {
      await fillDisk(disk);
    } finally {
      await Bun.$`umount -l ${disk}`.quiet();
      await rm(disk, { recursive: true });
    }
  });

  test("too many connections", async () => {
    const crowded = await startCluster({ settings: { max_connections: "20" } });
    await under(
      "too many connections",
      async ({ load, databaseUrl }) => {
        const admin = client(databaseUrl);
        await admin`select 1`;
        const hogs: ReturnType<typeof client>[] = [];
        const pids: string[] = [];
        // Whatever the service loses, somebody else takes, until nothing is left to it.
        for (let refused = 0; refused < 10; ) {
          const hog = client(databaseUrl);
          const [row] = await hog<{ pid: number }[]>`select pg_backend_pid() as pid`.catch(() => []);
          if (row) {
            refused = 0;
            hogs.push(hog);
            pids.push(String(row.pid));
          } else {
            refused++;
            await hog.end({ timeout: 0 });
            await admin`
              select pg_terminate_backend(pid) from pg_stat_activity
              where backend_type = 'client backend' and pid::text <> all(${pids}::text[]) and pid <> pg_backend_pid()`;
          }
        }
        await load.untilFailure();
        await Bun.sleep(1000);
        await Promise.all([...hogs, admin].map((one) => one.end()));
        load.healed();
      },
      { databaseUrl: await crowded.newDatabase() },
    );
    await crowded.close();
  });
});

/** PgBouncer, where this machine has one: npm has none. */
const PGBOUNCER = Bun.which("pgbouncer");
const POOLED = 6;

const hasPooler = possible("a pooler in transaction mode", PGBOUNCER !== null, "there is no pgbouncer");

describe.skipIf(!hasPooler)("a pooler in transaction mode", () => {
  let folder = "";
  let port = 0;
  let pooler: RunningProcess;
  const start = async (): Promise<RunningProcess> => {
    // It refuses to run as root, as PostgreSQL does.
    const user = process.getuid?.() === 0 ? ["-u", "postgres"] : [];
    const running = startProcess([PGBOUNCER ?? "", ...user, join(folder, "pgbouncer.ini")]);
    await running.waitFor(/listening on 127/);
    return running;
  };
  beforeAll(async () => {
    folder = await temporaryFolder();
    port = await freePort();
    const { password } = new URL(cluster.url("postgres"));
    // None of the parameters that a client may send at its start is ignored.
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

  test("serves all that the API promises", async () => {
    const files = [
      "test/e2e/routes",
      "src/http/authenticate",
      "src/routes/api-keys",
      "test/e2e/api-keys-life",
      "src/routes/avatars",
      "test/e2e/avatars-life",
      "test/e2e/idempotency",
      "src/routes/audit-events",
    ];
    const { code, stdout, stderr } = await runToEnd(
      [process.execPath, "test", ...files.map((name) => `apps/api/${name}.test.ts`)],
      { DATABASE_URL: cluster.url("postgres"), TEST_POOLER_PORT: String(port) },
    );
    expect([code, (stdout + stderr).match(/^\(fail\).*|^ *0 pass.*/gm)]).toEqual([0, null]);
  });

  test("has each statement stopped that is given up", async () => {
    let most = 0;
    await under(
      "table locked for 6 s, behind a pooler",
      async (scene) => {
        most = await holdLock(scene);
      },
      { reach: (url) => url.replace(String(cluster.port), String(port)), variables: { PREPARED_STATEMENTS: "false" } },
    );
    // As many as the pooler has, and those that are being stopped: not one more for each that was given up.
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(2 * POOLED);
  });

  test("killed and started again", async () => {
    await under(
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

describe("a migration", () => {
  test("not yet applied", async () => {
    const row = await under("migration not yet applied", async ({ load, databaseUrl }) => {
      const sql = client(databaseUrl);
      await sql`alter table idempotency_keys rename to not_yet`;
      await load.untilFailure();
      await Bun.sleep(500);
      await sql`alter table not_yet rename to idempotency_keys`;
      load.healed();
      await sql.end();
    });
    expect([row.refused > 0, row.unknown]).toEqual([true, 0]);
  });

  test("of an empty database, with the service there already", async () => {
    const empty = cluster.url("never_migrated");
    const admin = client(cluster.url("postgres"));
    await admin.unsafe("create database never_migrated encoding 'UTF8' locale 'C' template template0");
    await admin.end();
    const service = await startService(empty);
    const ask = async (method: string, path: string, options: Parameters<typeof requestInit>[1]) =>
      readAnswer(await fetch(service.url + path, requestInit(method, options)));
    const key = generateApiKey("live", random).reveal();
    const early = await ask("POST", "/api/v1/avatars", { key, body: { displayName: "x", sourceKind: "image" } });
    expect([early.status, early.body.code, early.headers.get("retry-after")]).toEqual([503, "unavailable", "1"]);
    const [unready, live] = [await ask("GET", "/readyz", {}), await ask("GET", "/healthz", {})];
    expect([unready.status, unready.body.reason, live.status]).toEqual([503, "migrations_pending", 200]);
    const { code } = await runToEnd(bun("apps/api/src/cli.ts", "migrate"), { DATABASE_URL: empty });
    expect(code).toBe(0);
    expect((await ask("GET", "/readyz", {})).status).toBe(200);
    const late = await ask("POST", "/api/v1/avatars", {
      key: await seedRoot(empty),
      body: { displayName: "x", sourceKind: "image" },
    });
    expect(late.status).toBe(201);
  });
});

describe("the client", () => {
  test("creates each avatar once, while the service is killed and the database loses its connections", async () => {
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
      while (made.size < count) await Bun.sleep(5);
    };
    for (let round = 1; round <= 6; round++) {
      await untilMade(round * 200);
      if (round % 2 === 0) {
        await sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name = 'realtime-avatar' and pid <> pg_backend_pid()`;
        continue;
      }
      service.kill("SIGKILL");
      await service.exited;
      services.delete(service);
      service = await startService(databaseUrl, { PORT });
    }
    await creating;
    const found = await sql<
      { id: string; displayName: string }[]
    >`select id, display_name as "displayName" from avatars`;
    await sql.end();
    expect(found.length).toBe(wanted.length);
    expect(new Map(found.map(({ id, displayName }) => [displayName, id]))).toEqual(made);
  });
});

describe("too much load", () => {
  test("is refused at once, beyond what can wait; liveness answers throughout", async () => {
    const network = await startNetwork(cluster.port);
    let slowestProbe = 0;
    const row = await under(
      "overload: 250 callers, 2 connections",
      async ({ load, service }) => {
        network.delayMs = 10;
        const end = performance.now() + 4000;
        while (performance.now() < end) {
          const startedAt = performance.now();
          expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
          slowestProbe = Math.max(slowestProbe, performance.now() - startedAt);
          await Bun.sleep(20);
        }
        network.delayMs = 0;
        load.healed();
      },
      {
        reach: (url) => url.replace(String(cluster.port), String(network.port)),
        variables: { DATABASE_CONNECTIONS: "2" },
        lanes: 250,
      },
    );
    network.close();
    expect(row.refused).toBeGreaterThan(0);
    expect(slowestProbe).toBeLessThan(1000);
  });
});
