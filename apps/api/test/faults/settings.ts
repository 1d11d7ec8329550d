/** Faults by settings of the server that an administrator changes while the service works. */
import { describe, expect, test } from "bun:test";
import { client, IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { ask, cluster, DEADLINE_MS, runFault, type Scene } from "./support/scene.ts";

/** Changes a setting of the whole server. Open sessions follow before their next statement. */
const setOnServer = async (name: string, value: string | null): Promise<void> => {
  // The setting applies from the first statement on: a time-out of a few milliseconds would cancel even a SET on a busy
  // machine.
  const admin = client(cluster.url("postgres"), 1, { connection: { statement_timeout: "0" } });
  await admin.unsafe(value === null ? `alter system reset ${name}` : `alter system set ${name} = '${value}'`);
  await admin`select pg_reload_conf()`;
  await admin.end();
};

/** Sets the `statement_timeout` of one database, for new sessions. */
const setTimeOut = async (databaseUrl: string, value: string): Promise<void> => {
  const admin = client(databaseUrl);
  // On Citus, the setting changes only at this node.
  if (!IS_ONE_DATABASE) await admin`set citus.enable_ddl_propagation = off`;
  await admin.unsafe(`alter database ${new URL(databaseUrl).pathname.slice(1)} set statement_timeout = '${value}'`);
  await admin.end();
};

/** Sends reads to the API for `milliseconds`. Returns the statuses and codes of the responses. */
const readFor = async ({ service, rootKey }: Scene, milliseconds: number): Promise<Set<string>> => {
  const seen = new Set<string>();
  for (const end = performance.now() + milliseconds; performance.now() < end; await Bun.sleep(20)) {
    for (const path of ["/api/v1/api-keys/self", "/api/v1/avatars?limit=1"]) {
      const { status, body } = await ask(service, "GET", path, { key: rootKey });
      seen.add(status === 200 ? "200" : `${status} ${body?.code}`);
    }
  }
  return seen;
};

test("a read-only server, on writes: refused as not executed, until it is reset", async () => {
  const reads = new Set<string>();
  const row = await runFault("default_transaction_read_only, 2 times", async (scene) => {
    const { load, service } = scene;
    try {
      for (let round = 0; round < 2; round++) {
        await setOnServer("default_transaction_read_only", "on");
        await load.untilFailure();
        for (const seen of await readFor(scene, 1000)) reads.add(seen);
        expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
        const ready = await fetch(`${service.url}/readyz`);
        const health = (await ready.json()) as { reason: string };
        expect([ready.status, health.reason]).toEqual([503, "database_read_only"]);
        await setOnServer("default_transaction_read_only", null);
        load.healed();
        await load.untilSuccesses(100);
        expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
      }
    } finally {
      await setOnServer("default_transaction_read_only", null);
    }
  });
  expect([row.refused > 0, row.unknown]).toEqual([true, 0]);
  // A read is served, or is refused like a write if its connection accepts neither.
  expect([...reads].filter((seen) => seen !== "200" && seen !== "503 unavailable")).toEqual([]);
});

describe("a statement_timeout", () => {
  test("a statement_timeout during a wait for a lock: cancelled as not executed", async () => {
    const databaseUrl = await cluster.newDatabase();
    const admin = client(databaseUrl);
    // Well below the deadline of a request, so that the server cancels first.
    await setTimeOut(databaseUrl, `${DEADLINE_MS / 10}ms`);
    const row = await runFault(
      "statement_timeout of 200 ms, table locked 2 times",
      async ({ load }) => {
        for (let round = 0; round < 2; round++) {
          await admin`begin`;
          await admin`lock table audit_events, credit_entries in exclusive mode`;
          await load.untilFailure();
          await Bun.sleep(DEADLINE_MS / 2);
          await admin`rollback`;
          load.healed();
          await load.untilSuccesses(100);
        }
        // The final comparison needs the database without this setting.
        await setTimeOut(databaseUrl, "0");
        await admin.end();
      },
      { databaseUrl },
    );
    expect([row.refused > 0, row.unknown]).toEqual([true, 0]);
  });

  test("a statement_timeout of a few milliseconds: cancelled anywhere, no half-written row", async () => {
    const row = await runFault("statement_timeout of 1 to 8 ms", async ({ load }) => {
      try {
        for (const milliseconds of [8, 4, 3, 2, 1, 2, 3, 4, 8]) {
          await setOnServer("statement_timeout", `${milliseconds}ms`);
          await Bun.sleep(200);
        }
      } finally {
        await setOnServer("statement_timeout", null);
      }
      load.healed();
    });
    expect([row.refused > 0, row.unknown]).toEqual([true, 0]);
  });
});
