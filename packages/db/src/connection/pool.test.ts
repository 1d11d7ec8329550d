import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rm } from "node:fs/promises";
import { createServer, connect as dial, type Socket } from "node:net";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import postgres from "postgres";
import { openByTcp } from "../embedded-testing.ts";
import { findCredential } from "../statements/callers.ts";
import { statement } from "../statements/statement.ts";
import { seedKey, seedTenant, type TestDatabase, temporaryFolder, testDatabase } from "../testing.ts";
import { DatabaseError, databaseFailure, describeError } from "./errors.ts";
import { hostsOf } from "./hosts.ts";
import { connect, type Db, type PoolOptions } from "./pool.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

let database: TestDatabase;
/** Looks at the database from outside. */
let client: postgres.Sql;

beforeAll(async () => {
  database = await testDatabase();
  client = database.db.client;
});
afterAll(() => database.close());

const failureOf = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => {
      throw new Error("it did not fail");
    },
    (error: unknown) => error,
  );
/** The failure's kind and code; null for what is no failure of the database. */
const kindOf = async (work: Promise<unknown>): Promise<[string, string] | null> => {
  const error = await failureOf(work);
  return error instanceof DatabaseError ? [error.failure, error.code] : null;
};

const sleep = statement<{ pid: number }>(
  sql`select pg_backend_pid() as pid from pg_sleep(${sql.placeholder("seconds")}::float8)`,
);
const now = (db: Pick<Db, "run">) => sleep(db, { seconds: 0 });
/** For as long as a test wants. */
const forLong = (db: Pick<Db, "run">) => sleep(db, { seconds: 600 });

/** The backends of this database that sleep, at least so many. */
const sleepers = async (count: number): Promise<number[]> => {
  for (;;) {
    const rows = await client<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
    if (rows.length >= count) return rows.map(({ pid }) => pid);
  }
};

const withPool = async (options: PoolOptions & { url?: string }, use: (db: Db) => Promise<void>): Promise<void> => {
  const db = connect(options.url ?? database.url, options);
  try {
    await use(db);
  } finally {
    await db.close();
  }
};

const NOBODY = "postgres://postgres@127.0.0.1:1/postgres";

describe("hostsOf", () => {
  test.each([
    ["postgres://h/d", [{ host: "h", port: 5432 }]],
    ["postgresql://u:p%40@h:1/d?sslmode=require", [{ host: "h", port: 1 }]],
    [
      "postgres://u:p@a:1,b:2,c/d",
      [
        { host: "a", port: 1 },
        { host: "b", port: 2 },
        { host: "c", port: 5432 },
      ],
    ],
    ["postgres://u@[::1]:7/d", [{ host: "::1", port: 7 }]],
    ["postgres://u@%2Fvar%2Frun%2Fpostgresql/d", [{ host: "/var/run/postgresql", port: 5432 }]],
  ])("%s", (url, hosts) => {
    expect(hostsOf(url)).toEqual(hosts);
  });

  test.each(["", "mysql://h/d", "postgres://", "postgres:///d", "postgres://h:99999/d"])("refuses %j", (url) => {
    expect(() => hostsOf(url)).toThrow(TypeError);
  });
});

describe("a statement that fails", () => {
  test("was not executed when there is no server, no such table, or the pool is closed", async () => {
    await withPool({ url: NOBODY }, async (db) => {
      expect(await kindOf(now(db))).toEqual(["not_executed", "ECONNREFUSED"]);
    });
    const db = connect(database.url);
    expect(await kindOf(db.run("select * from no_such_table", []))).toEqual(["not_executed", "42P01"]);
    await db.close();
    expect(await kindOf(now(db))).toEqual(["not_executed", "CONNECTION_ENDED"]);
  });

  test("by a mistake of ours is no failure of the database's, and leaves the connection as it was", async () => {
    await withPool({ connections: 1 }, async (db) => {
      const before = await now(db);
      expect(databaseFailure(await failureOf(db.run("select 1/0", [])))).toBeNull();
      expect(databaseFailure(await failureOf(db.run("insert into tenants values ('x', 'y', now())", [])))).toBeNull();
      expect(await now(db)).toEqual(before);
    });
    expect(databaseFailure(new Error("x"))).toBeNull();
    expect(databaseFailure("x")).toBeNull();
  });

  test("since its connection died may have been executed, and the next one knows nothing of it", async () => {
    await withPool({ connections: 1 }, async (db) => {
      for (let round = 0; round < 3; round++) {
        const pending = kindOf(forLong(db));
        for (const pid of await sleepers(1)) await client`select pg_terminate_backend(${pid})`;
        expect((await pending)?.[0]).toBe("outcome_unknown");
        expect(await now(db)).toHaveLength(1);
      }
    });
  });
});

describe("prepared statements", () => {
  test.each([true, false])("stay on their connection: %j", async (prepare) => {
    await withPool({ connections: 1, prepare }, async (db) => {
      const tenantId = await seedTenant(db);
      const { secret } = await seedKey(db, tenantId, { scopes: ["*"] });
      const caller = (await findCredential(db, secret.keyId))?.caller;
      expect(caller).toMatchObject({ tenantId, scopes: ["*"], lineage: [] });
      const prepared = await db.run("select 1 from pg_prepared_statements", []);
      expect(prepared.length > 0).toBe(prepare);
    });
  });
});

describe("a statement that the server has forgotten, or whose table has changed", () => {
  const echo = statement<{ bytes: Uint8Array; json: unknown; list: string[] }>(sql`
    select ${sql.placeholder("bytes")}::bytea as bytes, ${sql.placeholder("json")}::json as json,
      ${sql.placeholder("list")}::text[] as list, * from changing`);

  test("is run again elsewhere, with the very values that were given", async () => {
    await withPool({ connections: 1 }, async (db) => {
      await client`create table changing (a integer)`;
      await client`insert into changing values (1)`;
      const values = { bytes: Buffer.from("hello"), json: { a: 1 }, list: ["x", "y"] };
      const expected = { json: { a: 1 }, list: ["x", "y"] };
      for (const change of ["deallocate all", "alter table changing add column b integer", "deallocate all"]) {
        expect(await echo(db, values)).toMatchObject([expected]);
        await db.run(change, []);
        const [row] = await echo(db, values);
        expect(row).toMatchObject(expected);
        expect(Buffer.from(row?.bytes ?? []).toString()).toBe("hello");
      }
      await client`drop table changing`;
    });
  });

  test("is run again, however many connections have a plan of the table as it was", async () => {
    await withPool({ connections: 10 }, async (db) => {
      await client`create table changing (a integer)`;
      await client`insert into changing values (1)`;
      // What has no parameter is not prepared.
      const list = statement<{ a: number }>(
        sql`select changing.* from changing, pg_sleep(${sql.placeholder("seconds")}::float8)`,
      );
      const onEach = (work: () => Promise<object[]>) => Promise.all(Array.from({ length: 10 }, work));
      for (const type of ["bigint", "text", "integer using a::integer"]) {
        await onEach(() => list(db, { seconds: 0.1 }));
        await client.unsafe(`alter table changing alter column a type ${type}`);
        // Others keep the connections going meanwhile: what is run again could come to any of them.
        let turn = 0;
        const rows = await onEach(() => (turn++ % 2 === 0 ? list(db, { seconds: 0.1 }) : now(db)));
        expect(rows.flat()).toHaveLength(10);
      }
      await client`drop table changing`;
    });
  });

  test("a value that is missing is a mistake of ours, and no failure of the database's", async () => {
    await withPool({ connections: 1 }, async (db) => {
      expect(databaseFailure(await failureOf(db.run("select $1::text", [undefined])))).toBeNull();
      expect(await now(db)).toHaveLength(1);
    });
  });
});

describe("the deadline", () => {
  test("of a statement that runs leaves its outcome unknown; the server is told to stop, and the next is served", async () => {
    await withPool({ connections: 1, deadlineMs: 300 }, async (db) => {
      expect(await kindOf(forLong(db))).toEqual(["outcome_unknown", "DEADLINE_EXCEEDED"]);
      // Not for the 600 seconds that it would have slept.
      const isAsleep = () => client`
        select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
      while ((await isAsleep()).length > 0);
      expect(await now(db.until({ deadline: performance.now() + 60_000 }))).toHaveLength(1);
    });
  });

  test("of a statement that waits for a connection means that it was not executed", async () => {
    await withPool({ connections: 1, deadlineMs: 60_000 }, async (db) => {
      const running = forLong(db);
      await sleepers(1);
      const waiting = kindOf(now(db.until({ deadline: performance.now() + 100 })));
      expect(await waiting).toEqual(["not_executed", "DEADLINE_EXCEEDED"]);
      const failed = failureOf(running);
      for (const pid of await sleepers(1)) await client`select pg_cancel_backend(${pid})`;
      expect(databaseFailure(await failed)).toBe("not_executed");
    });
  });

  test("of a request is that of all of its statements, and can be moved", async () => {
    await withPool({ connections: 1 }, async (db) => {
      const limit = { deadline: performance.now() + 60_000 };
      const request = db.until(limit);
      await now(request);
      limit.deadline = performance.now() - 1;
      expect(await kindOf(now(request))).toEqual(["not_executed", "DEADLINE_EXCEEDED"]);
      limit.deadline += 60_000;
      expect(await now(request)).toHaveLength(1);
    });
  });
});

describe("connections that hang", () => {
  test("make way for as many others, and no more; later there are as many as before", async () => {
    await withPool({ connections: 2, deadlineMs: 60_000 }, async (db) => {
      const hanging = [0, 1].map(() => failureOf(forLong(db)));
      await sleepers(2);
      // It waits for a second, and is served then.
      expect(await now(db)).toHaveLength(1);
      hanging.push(...[0, 1].map(() => failureOf(forLong(db))));
      const pids = await sleepers(4);
      const waiting = kindOf(now(db.within(3000)));
      expect(await waiting).toEqual(["not_executed", "DEADLINE_EXCEEDED"]);
      for (const pid of pids) await client`select pg_cancel_backend(${pid})`;
      await Promise.all(hanging);
      const running = [0, 1].map(() => failureOf(forLong(db)));
      expect(await sleepers(2)).toHaveLength(2);
      const backends = () => client`
        select pid from pg_stat_activity
        where datname = current_database() and query like 'select pg_backend_pid() as pid from pg_sleep%'`;
      while ((await backends()).length > 2);
      for (const pid of await sleepers(2)) await client`select pg_cancel_backend(${pid})`;
      await Promise.all(running);
    });
  });
});

describe("too much load", () => {
  test("runs so many at once, lets so many wait, and refuses the rest at once", async () => {
    await withPool({ connections: 2, waiting: 3, deadlineMs: 60_000 }, async (db) => {
      const limit = { deadline: performance.now() + 60_000 };
      const running = [0, 1].map(() => failureOf(forLong(db)));
      const pids = await sleepers(2);
      const waiting = [0, 1, 2].map(() => now(db.until(limit)));
      expect(await kindOf(now(db.until(limit)))).toEqual(["not_executed", "QUEUE_FULL"]);
      expect(await sleepers(2)).toHaveLength(2);
      for (const pid of pids) await client`select pg_cancel_backend(${pid})`;
      await Promise.all(running);
      expect(await Promise.all(waiting)).toHaveLength(3);
      expect(await now(db.until(limit))).toHaveLength(1);
    });
  });

  test("serves in order, but a request that has begun before one that has not", async () => {
    await withPool({ connections: 1, deadlineMs: 60_000 }, async (db) => {
      const limit = { deadline: performance.now() + 60_000 };
      const begun = db.until(limit);
      await now(begun);
      const running = failureOf(forLong(db));
      const pids = await sleepers(1);
      const order: string[] = [];
      const all = [
        ...["first", "second"].map((name) => now(db.until(limit)).then(() => order.push(name))),
        now(begun).then(() => order.push("begun")),
      ];
      for (const pid of pids) await client`select pg_cancel_backend(${pid})`;
      await Promise.all([running, ...all]);
      expect(order).toEqual(["begun", "first", "second"]);
    });
  });
});

/** A proxy before the database; `onConnection` may meddle. */
const startProxy = async (onConnection: (socket: Socket, upstream: Socket) => void) => {
  const { hostname, port } = new URL(database.url);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const upstream = dial(Number(port), hostname);
    for (const each of [socket, upstream]) {
      sockets.add(each);
      each.on("error", () => {});
    }
    onConnection(socket, upstream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(database.url);
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    close: () => {
      for (const each of sockets) each.destroy();
      server.close();
    },
  };
};

describe("a server that hangs up while a connection is being made", () => {
  test("after however many bytes, ends nothing but the attempt", async () => {
    // How many bytes of the server's the next connection lets through: a handshake has some 500.
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
      for (; allowed < 320; allowed += 16) {
        if ((await kindOf(now(db)))?.[0] === "not_executed") failed++;
      }
      expect(failed).toBe(20);
      allowed = Number.POSITIVE_INFINITY;
      expect(await now(db)).toHaveLength(1);
    });
    proxy.close();
  });
});

describe("a network that loses what is said on the connections that are there", () => {
  test("costs those who use one their time; the next is served, though the idle ones are lost as well", async () => {
    let isLost = false;
    const proxy = await startProxy((socket, upstream) => {
      const born = isLost;
      socket.on("data", (chunk) => isLost === born && upstream.write(chunk));
      upstream.on("data", (chunk) => isLost === born && socket.write(chunk));
    });
    await withPool({ url: proxy.url, connections: 6, deadlineMs: 60_000 }, async (db) => {
      await Promise.all(Array.from({ length: 6 }, () => sleep(db, { seconds: 0.05 })));
      isLost = true;
      const hanging = failureOf(now(db.within(3000)));
      await Bun.sleep(1100);
      for (let count = 0; count < 5; count++) expect(await now(db.within(1000))).toHaveLength(1);
      expect(databaseFailure(await hanging)).toBe("outcome_unknown");
    });
    proxy.close();
  });
});

describe("a server that takes connections and says nothing", () => {
  test("is given up in time; all who wait are told so", async () => {
    const proxy = await startProxy((_, upstream) => upstream.destroy());
    await withPool({ url: proxy.url, connectMs: 100, connections: 4 }, async (db) => {
      const kinds = await Promise.all([0, 1, 2, 3, 4, 5].map(() => kindOf(now(db))));
      expect(kinds).toEqual(Array(6).fill(["not_executed", "CONNECT_TIMEOUT"]));
    });
    proxy.close();
  });
});

describe("several hosts", () => {
  test("whichever takes writes is found, wherever it stands", async () => {
    const { host } = new URL(database.url);
    for (const hosts of [`127.0.0.1:1,${host}`, `${host},127.0.0.1:1`, `${host},${host}`]) {
      await withPool({ url: database.url.replace(host, hosts), connections: 2 }, async (db) => {
        expect(await Promise.all([now(db), now(db), now(db)])).toHaveLength(3);
      });
    }
  });

  test("one without an address is passed over, wherever it stands", async () => {
    const { host } = new URL(database.url);
    const nowhere = "no-such-host.invalid:5432";
    for (const hosts of [`${nowhere},${host}`, `${host},${nowhere}`, `${nowhere},127.0.0.1:1,${host}`]) {
      await withPool({ url: database.url.replace(host, hosts), connections: 4 }, async (db) => {
        expect(await Promise.all(Array.from({ length: 8 }, () => now(db)))).toHaveLength(8);
      });
    }
    await withPool({ url: database.url.replace(host, nowhere) }, async (db) => {
      expect((await kindOf(now(db)))?.[0]).toBe("not_executed");
    });
  });

  test("one that holds up the first connection, as a name server that is down does, holds up no other", async () => {
    let dialled = 0;
    const silent = await startProxy((_, upstream) => {
      dialled++;
      upstream.destroy();
    });
    const { host } = new URL(database.url);
    const url = database.url.replace(host, `${new URL(silent.url).host},${host}`);
    await withPool({ url, connections: 1, deadlineMs: 60_000 }, async (db) => {
      for (let round = 0; round < 5; round++) {
        const lost = failureOf(forLong(db));
        for (const pid of await sleepers(1)) await client`select pg_terminate_backend(${pid})`;
        await lost;
      }
    });
    silent.close();
    expect(dialled).toBe(1);
  });
});

describe("a server that is read-only", () => {
  test("is no primary, like a standby: another host is found, and without one nothing is executed", async () => {
    const folder = await temporaryFolder();
    const settings = { fsync: "off", default_transaction_read_only: "on" };
    const other = await openByTcp(join(folder, "data"), { settings });
    // The same user, password and database as on the server of the tests.
    const admin = postgres(other.url, { max: 1, onnotice: () => {} });
    await admin`set default_transaction_read_only = off`;
    const { username, password, pathname, host } = new URL(database.url);
    if (username !== "postgres") await admin.unsafe(`create role "${username}" login`);
    await admin.unsafe(`alter role "${username}" password '${decodeURIComponent(password)}'`);
    await admin.unsafe(`create database "${pathname.slice(1)}"`);
    await admin.end();
    const readOnly = `127.0.0.1:${other.port}`;
    await withPool({ url: database.url.replace(host, readOnly) }, async (db) => {
      expect(await kindOf(now(db))).toEqual(["not_executed", "READ_ONLY"]);
    });
    await withPool({ url: database.url.replace(host, `${readOnly},${host}`) }, async (db) => {
      expect(await seedTenant(db)).toStartWith("ten_");
    });
    await other.close();
    await rm(folder, { recursive: true });
  });
});

describe("a pool whose connections are cut under load", () => {
  test("has every one of them back, and no more", async () => {
    const own = await testDatabase();
    const name = new URL(own.url).pathname.slice(1);
    const ofPool = () => client<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = ${name} and query like '%pg_sleep%'`;
    const outcomes = { done: 0, failed: 0 };
    await withPool({ url: own.url, connections: 10 }, async (db) => {
      let isOver = false;
      const lanes = Array.from({ length: 40 }, async () => {
        while (!isOver) {
          const failure = await sleep(db, { seconds: 0.001 }).then(() => null, databaseFailure);
          outcomes[failure === null ? "done" : "failed"]++;
        }
      });
      for (let round = 0; round < 20; round++) {
        await Bun.sleep(20);
        await client`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
      }
      isOver = true;
      await Promise.all(lanes);
      expect(outcomes.done).toBeGreaterThan(0);
      expect(outcomes.failed).toBeGreaterThan(0);
      expect(await Promise.all(Array.from({ length: 40 }, () => sleep(db, { seconds: 0.02 })))).toHaveLength(40);
      expect(await ofPool()).toHaveLength(10);
    });
    while ((await ofPool()).length > 0);
    await own.close();
  });
});

describe("describeError", () => {
  test("holds nothing of the row that was refused", async () => {
    const error = await failureOf(client`insert into tenants values ('the-row', 'the-name', now())`);
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
