import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { sql } from "drizzle-orm";
import postgres from "postgres";
import { findCredential } from "./callers.ts";
import { connect, type Db, databaseFailure, describeError, statement } from "./client.ts";
import { openDatabase } from "./open.ts";
import { seedKey, seedTenant, type TestDatabase, testDatabase } from "./testing.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

const failureOf = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => {
      throw new Error("it did not fail");
    },
    (error: unknown) => error,
  );

describe("databaseFailure", () => {
  test("a server that is not there executes nothing", async () => {
    const nobody = connect("postgres://postgres@127.0.0.1:1/postgres");
    expect(databaseFailure(await failureOf(nobody.client`select 1`))).toBe("not_executed");
    await nobody.close();
  });

  /** Kills the one connection of `victim` under a statement; the failure of the statement. */
  const killUnderStatement = async (victim: Db): Promise<unknown> => {
    const { client } = database.db;
    const [row] = await victim.client`select pg_backend_pid() as pid`;
    const failure = failureOf(victim.client`select pg_sleep(30)`);
    for (;;) {
      const asleep =
        await client`select 1 from pg_stat_activity where pid = ${row?.["pid"]} and wait_event = 'PgSleep'`;
      if (asleep.length > 0) break;
    }
    await client`select pg_terminate_backend(${row?.["pid"]})`;
    return failure;
  };

  test("a connection that dies under a statement leaves its outcome unknown, and the next one knows nothing of it", async () => {
    const victim = connect(database.url, { connections: 1 });
    for (let round = 0; round < 3; round++) {
      expect(databaseFailure(await killUnderStatement(victim))).toBe("outcome_unknown");
      // The driver would tell the first statement on the next connection that it has failed as this one did.
      expect(await victim.client`select 1 as one`).toMatchObject([{ one: 1 }]);
    }
    await victim.close();
  });

  test("a table that is not there yet, and a pool that is closed, execute nothing", async () => {
    expect(databaseFailure(await failureOf(database.db.client`select * from no_such_table`))).toBe("not_executed");
    const closed = connect(database.url);
    await closed.close();
    expect(databaseFailure(await failureOf(closed.client`select 1`))).toBe("not_executed");
  });

  test("a mistake of ours is no failure of the database's", async () => {
    expect(databaseFailure(await failureOf(database.db.client`select 1/0`))).toBeNull();
    expect(
      databaseFailure(await failureOf(database.db.client`insert into tenants values ('x', 'y', now())`)),
    ).toBeNull();
    expect(databaseFailure(new Error("x"))).toBeNull();
    expect(databaseFailure("x")).toBeNull();
  });
});

describe("prepared statements", () => {
  test.each([true, false])("stay on their connection: %j", async (prepare) => {
    const db = connect(database.url, { connections: 1, prepare });
    const tenantId = await seedTenant(db);
    const { secret } = await seedKey(db, tenantId, { scopes: ["*"] });
    const caller = (await findCredential(db, secret.keyId))?.caller;
    expect(caller).toMatchObject({ tenantId, scopes: ["*"], lineage: [] });
    const prepared = await db.client.unsafe("select 1 from pg_prepared_statements");
    expect(prepared.length > 0).toBe(prepare);
    await db.close();
  });
});

describe("a statement", () => {
  const sleep = statement<{ slept: string }>(
    sql`select pg_sleep(${sql.placeholder("seconds")}::float8)::text as slept`,
  );

  test("that takes longer than the deadline fails, with its outcome unknown", async () => {
    const hasty = connect(database.url, { connections: 1, deadlineMs: 50 });
    expect(await sleep(hasty, { seconds: 0 })).toMatchObject([{ slept: "" }]);
    expect(databaseFailure(await failureOf(sleep(hasty, { seconds: 1 })))).toBe("outcome_unknown");
    await hasty.close();
  });
});

describe("a pool whose connections are cut under load", () => {
  test("has every one of them back, none poisoned by what a dead one had not yet sent", async () => {
    const sleep = statement(sql`select pg_sleep(${sql.placeholder("seconds")}::float8)`);
    const own = await testDatabase();
    const pool = connect(own.url, { connections: 10, deadlineMs: 1000 });
    const name = new URL(own.url).pathname.slice(1);
    let isOver = false;
    const outcomes = { done: 0, failed: 0 };
    const caller = async (): Promise<void> => {
      while (!isOver) {
        const done = await sleep(pool, { seconds: 0.001 }).then(
          () => true,
          () => false,
        );
        outcomes[done ? "done" : "failed"]++;
      }
    };
    const load = Promise.all(Array.from({ length: 40 }, caller));
    for (let round = 0; round < 20; round++) {
      await Bun.sleep(20);
      await database.db.client`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
    }
    isOver = true;
    await load;
    expect(outcomes.done).toBeGreaterThan(0);
    expect(outcomes.failed).toBeGreaterThan(0);

    // Statements that go out as their connection is being cut may fail still; those after them do not.
    const burst = () => Promise.allSettled(Array.from({ length: 40 }, () => sleep(pool, { seconds: 0.02 })));
    await burst();
    expect((await burst()).filter(({ status }) => status === "rejected")).toEqual([]);
    expect(await database.db.client`select 1 from pg_stat_activity where datname = ${name}`).toHaveLength(10);
    await pool.close();
    await own.close();
  });
});

describe("describeError", () => {
  test("holds nothing of the row that was refused", async () => {
    const error = await failureOf(database.db.client`insert into tenants values ('the-row', 'the-name', now())`);
    expect(error).toBeInstanceOf(postgres.PostgresError);
    expect(describeError(error)).toMatchObject({
      code: "23514",
      constraint: "tenants_tenant_id_check",
      table: "tenants",
    });
    expect(JSON.stringify(describeError(error))).not.toMatch(/the-row|the-name/);
  });

  test("keeps what helps of any other error", () => {
    expect(describeError(new TypeError("oops"))).toMatchObject({ name: "TypeError", message: "oops" });
    expect(describeError(undefined)).toEqual({ name: "undefined" });
  });
});

describe("the start", () => {
  const on = async (name: string, create: string, change?: string): Promise<void> => {
    const admin = database.db.client;
    await admin.unsafe(`create database ${name} ${create}`);
    try {
      if (change) await admin.unsafe(`alter database ${name} ${change}`);
      const url = new URL(database.url);
      url.pathname = `/${name}`;
      await (
        await openDatabase({ databaseUrl: url.href, dataDirectory: "unused", deadlineMs: 5000, prepare: true })
      ).close();
    } finally {
      await admin.unsafe(`drop database ${name}`);
    }
  };

  test("accepts UTF-8 and read committed", async () => {
    await on(`plain_${process.pid}`, "encoding 'UTF8' locale 'C' template template0");
  });

  test("refuses another encoding", async () => {
    const create = "encoding 'LATIN1' locale 'C' template template0";
    await expect(on(`latin_${process.pid}`, create)).rejects.toThrow("it must be UTF8");
  });

  test("refuses another default isolation", async () => {
    const change = "set default_transaction_isolation = 'serializable'";
    await expect(on(`serial_${process.pid}`, "encoding 'UTF8' locale 'C' template template0", change)).rejects.toThrow(
      "it must be read committed",
    );
  });
});
