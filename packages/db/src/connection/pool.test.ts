import { describe, expect, test } from "bun:test";
import { connectTo, testDatabase } from "@realtime-avatar/testing/database";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { sql } from "drizzle-orm";
import { findCredential } from "../callers/callers.ts";
import { prepared } from "../query/statement.ts";
import { databaseFailure } from "./errors.ts";
import { catchFailure, failureKind, forLong, now, poolTests, sleep } from "./pool/testing.ts";

const database = await poolTests();
const { withPool, sleepers, startProxy } = database;

const UNREACHABLE_URL = "postgres://postgres@127.0.0.1:1/postgres";

describe("a failing statement", () => {
  test("a statement, without a server, without its table, or after the close: not executed", async () => {
    await withPool({ url: UNREACHABLE_URL }, async (db) => {
      expect(await failureKind(now(db))).toEqual(["not_executed", "ECONNREFUSED"]);
    });
    const db = connectTo(database);
    expect(await failureKind(db.run("select * from no_such_table", []))).toEqual(["not_executed", "42P01"]);
    await db.close();
    expect(await failureKind(now(db))).toEqual(["not_executed", "CONNECTION_ENDED"]);
  });

  test("a statement that fails because of its content: no DatabaseError, and the connection is used again", async () => {
    await withPool({ connections: 1 }, async (db) => {
      const before = await now(db);
      expect(databaseFailure(await catchFailure(db.run("select 1/0", [])))).toBeNull();
      expect(
        databaseFailure(await catchFailure(db.run("insert into tenants values ('x', 'y', now())", []))),
      ).toBeNull();
      expect(await now(db)).toEqual(before);
    });
  });

  test("a statement whose connection is lost: its outcome is unknown; the next statement succeeds", async () => {
    await withPool({ connections: 1 }, async (db) => {
      for (let round = 0; round < 3; round++) {
        const pending = failureKind(forLong(db));
        for (const pid of await sleepers(1)) await database.client`select pg_terminate_backend(${pid}::integer)`;
        expect((await pending)?.[0]).toBe("outcome_unknown");
        expect(await now(db)).toHaveLength(1);
      }
    });
  });
});

test.each([true, false])("statements with prepare %j: stay on their connection", async (prepare) => {
  await withPool({ connections: 1, prepare }, async (db) => {
    const tenantId = await seedTenant(db);
    const { secret } = await seedKey(db, tenantId, { scopes: ["*"] });
    const caller = (await findCredential(db, secret.keyId))?.caller;
    expect(caller).toMatchObject({ tenantId, scopes: ["*"], lineage: [] });
    const prepared = await db.run("select 1 from pg_prepared_statements", []);
    expect(prepared.length > 0).toBe(prepare);
  });
});

describe("a statement whose plan is outdated", () => {
  const echo = prepared<{ bytes: Uint8Array; json: unknown; list: string[] }>(
    "test",
    sql`
    select ${sql.placeholder("bytes")}::bytea as bytes, ${sql.placeholder("json")}::json as json,
      ${sql.placeholder("list")}::text[] as list, * from changing`,
  );

  test("a statement that the server has forgotten, or whose table has changed: run again with its values", async () => {
    await withPool({ connections: 1 }, async (db) => {
      await database.client`create table changing (a integer)`;
      await database.client`insert into changing values (1)`;
      const values = { bytes: Buffer.from("hello"), json: { a: 1 }, list: ["x", "y"] };
      const expected = { json: { a: 1 }, list: ["x", "y"] };
      for (const change of ["deallocate all", "alter table changing add column b integer", "deallocate all"]) {
        expect(await echo(db, values)).toMatchObject([expected]);
        // DEALLOCATE runs in the session of the pool. The owner of the table alters the table.
        if (change.startsWith("alter")) await database.client.unsafe(change);
        else await db.run(change, []);
        const [row] = await echo(db, values);
        expect(row).toMatchObject(expected);
        expect(Buffer.from(row?.bytes ?? []).toString()).toBe("hello");
      }
      await database.client`drop table changing`;
    });
  });

  test("a statement with an outdated plan on every connection: run again", async () => {
    await withPool({ connections: 10 }, async (db) => {
      await database.client`create table changing (a integer)`;
      await database.client`insert into changing values (1)`;
      // A statement without parameters is not prepared.
      const list = prepared<{ a: number }>(
        "test",
        sql`select changing.* from changing, pg_sleep(${sql.placeholder("seconds")}::float8)`,
      );
      const onEach = (work: () => Promise<object[]>) => Promise.all(Array.from({ length: 10 }, work));
      for (const type of ["bigint", "text", "integer using a::integer"]) {
        await onEach(() => list(db, { seconds: 0.1 }));
        await database.client.unsafe(`alter table changing alter column a type ${type}`);
        // Other statements keep the connections busy, so a repeated statement could get any connection.
        let turn = 0;
        const rows = await onEach(() => (turn++ % 2 === 0 ? list(db, { seconds: 0.1 }) : now(db)));
        expect(rows.flat()).toHaveLength(10);
      }
      await database.client`drop table changing`;
    });
  });

  test("a statement with a missing value: no DatabaseError", async () => {
    await withPool({ connections: 1 }, async (db) => {
      expect(databaseFailure(await catchFailure(db.run("select $1::text", [undefined])))).toBeNull();
      expect(await now(db)).toHaveLength(1);
    });
  });
});

describe("the deadline", () => {
  test("a running statement past its deadline: cancelled, its outcome is unknown; the next statement succeeds", async () => {
    await withPool({ connections: 1, deadlineMs: 60_000 }, async (db) => {
      // Opens a connection first, because on a busy machine this can exceed the deadline.
      await now(db);
      expect(await failureKind(forLong(db.within(300)))).toEqual(["outcome_unknown", "DEADLINE_EXCEEDED"]);
      // It does not sleep for the full 600 seconds.
      const isAsleep = () => database.client`
        select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
      await until(async () => (await isAsleep()).length === 0, { pollMs: 2 });
      expect(await now(db)).toHaveLength(1);
    });
  });

  test("a waiting statement past its deadline: not executed", async () => {
    await withPool({ connections: 1, deadlineMs: 60_000 }, async (db) => {
      const running = forLong(db);
      await sleepers(1);
      const waiting = failureKind(now(db.until({ deadline: performance.now() + 100 })));
      expect(await waiting).toEqual(["not_executed", "DEADLINE_EXCEEDED"]);
      const failed = catchFailure(running);
      for (const pid of await sleepers(1)) await database.client`select pg_cancel_backend(${pid}::integer)`;
      expect(databaseFailure(await failed)).toBe("not_executed");
    });
  });

  test("the deadline of a request, moved: applies to all its statements", async () => {
    await withPool({ connections: 1 }, async (db) => {
      const limit = { deadline: performance.now() + 60_000 };
      const request = db.until(limit);
      await now(request);
      limit.deadline = performance.now() - 1;
      expect(await failureKind(now(request))).toEqual(["not_executed", "DEADLINE_EXCEEDED"]);
      limit.deadline += 60_000;
      expect(await now(request)).toHaveLength(1);
    });
  });
});

describe("too much load", () => {
  test("statements, beyond the maximum running and waiting: refused at once", async () => {
    await withPool({ connections: 2, waiting: 3, deadlineMs: 60_000 }, async (db) => {
      const limit = { deadline: performance.now() + 60_000 };
      const running = [0, 1].map(() => catchFailure(forLong(db)));
      const pids = await sleepers(2);
      const waiting = [0, 1, 2].map(() => now(db.until(limit)));
      expect(await failureKind(now(db.until(limit)))).toEqual(["not_executed", "QUEUE_FULL"]);
      expect(await sleepers(2)).toHaveLength(2);
      for (const pid of pids) await database.client`select pg_cancel_backend(${pid}::integer)`;
      await Promise.all(running);
      expect(await Promise.all(waiting)).toHaveLength(3);
      expect(await now(db.until(limit))).toHaveLength(1);
    });
  });

  test("waiting statements: served in order", async () => {
    await withPool({ connections: 1, deadlineMs: 60_000 }, async (db) => {
      const limit = { deadline: performance.now() + 60_000 };
      const running = catchFailure(forLong(db));
      const pids = await sleepers(1);
      const order: string[] = [];
      const all = ["first", "second"].map((name) => now(db.until(limit)).then(() => order.push(name)));
      for (const pid of pids) await database.client`select pg_cancel_backend(${pid}::integer)`;
      await Promise.all([running, ...all]);
      expect(order).toEqual(["first", "second"]);
    });
  });
});

test("a handshake that is cut after 5 different numbers of bytes (20 with LONG=1): only that attempt fails", async () => {
  // The number of bytes from the server that the next connection forwards. A handshake has about 500.
  let allowed = 0;
  const proxy = await startProxy((socket, upstream) => {
    let left = allowed;
    upstream.on("data", (chunk: Buffer) => {
      socket.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left < 0) socket.end(() => socket.destroy());
    });
    socket.on("data", (chunk) => upstream.write(chunk)).on("close", () => upstream.destroy());
  });
  await withPool({ url: proxy.url, connections: 1, deadlineMs: 60_000 }, async (db) => {
    let failed = 0;
    const step = process.env["LONG"] === "1" ? 16 : 64;
    for (; allowed < 320; allowed += step) {
      if ((await failureKind(now(db)))?.[0] === "not_executed") failed++;
    }
    expect(failed).toBe(320 / step);
    allowed = Number.POSITIVE_INFINITY;
    expect(await now(db)).toHaveLength(1);
  });
  proxy.close();
});

test("waiting statements, with a silent server: fail after the connect timeout", async () => {
  const proxy = await startProxy((_, upstream) => upstream.destroy());
  await withPool({ url: proxy.url, connectMs: 100, connections: 4 }, async (db) => {
    const kinds = await Promise.all([0, 1, 2, 3, 4, 5].map(() => failureKind(now(db))));
    expect(kinds).toEqual(Array(6).fill(["not_executed", "CONNECT_TIMEOUT"]));
  });
  proxy.close();
});

test.each([[true], [false]])(
  "statements whose responses come after statement_timeout: executed once each, with their own rows (prepared: %s)",
  async (prepare) => {
    let delayMs = 0;
    const proxy = await startProxy((socket, upstream) => {
      upstream
        .on("data", (chunk) => setTimeout(() => socket.write(chunk), delayMs))
        .on("close", () => socket.destroy());
      socket.on("data", (chunk) => upstream.write(chunk)).on("close", () => upstream.destroy());
    });
    await withPool({ url: proxy.url, connections: 1, deadlineMs: 60_000, prepare }, async (db) => {
      await db.run("set statement_timeout = '100ms'", []);
      delayMs = 300;
      for (const word of ["first", "second", "third"]) {
        expect(await db.run(`select '${word}' || $1 as value`, ["!"])).toMatchObject([{ value: `${word}!` }]);
      }
    });
    proxy.close();
  },
);

test("a pool whose connections are cut: opens the same number again", async () => {
  const own = await testDatabase();
  const ofPool = () => own.db.client<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and query like '%pg_sleep%' and query not like '%datname%'`;
  const outcomes = { done: 0, failed: 0 };
  await withPool({ url: own.url, connections: 10 }, async (db) => {
    let isOver = false;
    const lanes = Array.from({ length: 40 }, async () => {
      while (!isOver) {
        const failure = await sleep(db, { seconds: 0.001 }).then(() => null, databaseFailure);
        outcomes[failure === null ? "done" : "failed"]++;
      }
    });
    try {
      for (let round = 0; round < 10; round++) {
        await Bun.sleep(20);
        await until(async () => (await ofPool()).length > 0, { pollMs: 2 });
        for (const { pid } of await ofPool()) await own.db.client`select pg_terminate_backend(${pid}::integer)`;
      }
    } finally {
      isOver = true;
    }
    await Promise.all(lanes);
    expect(outcomes.done).toBeGreaterThan(0);
    expect(outcomes.failed).toBeGreaterThan(0);
    // On a busy machine, the first connections can finish all statements before the others are open.
    while ((await ofPool()).length !== 10) {
      await Promise.all(Array.from({ length: 40 }, () => sleep(db.within(60_000), { seconds: 0.02 })));
    }
  });
  await until(async () => (await ofPool()).length === 0, { pollMs: 2 });
  await own.close();
});
