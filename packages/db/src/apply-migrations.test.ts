/**
 * Migrations while other transactions hold the locks that they need. previous-release.system.test.ts of the API tests
 * them under the load of a whole service.
 */
import { afterEach, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { session, type TestDatabase, testDatabase } from "@realtime-avatar/testing/database";
import { ofOneDatabase as test } from "@realtime-avatar/testing/postgres/one-database";
import { untilBlocked } from "@realtime-avatar/testing/postgres/waits";
import { applyMigrations, type Migration, NO_TRANSACTION } from "./apply-migrations.ts";
import { migrate, withLock } from "./migrate.ts";

// No test asserts a time, because a slow disk must not fail it.
setDefaultTimeout(60_000);

let database: TestDatabase;
beforeEach(async () => {
  database = await testDatabase({ isOne: true });
});
afterEach(() => database.close());

const NEXT = Date.UTC(2100, 0);
const later = (...texts: string[]): Migration[] =>
  texts.map((text, index) => ({ tag: `later_${index}`, when: NEXT + index, text }));
const AVATARS_THEN_KEYS = `ALTER TABLE "avatars" ADD COLUMN "later" text;--> statement-breakpoint
  ALTER TABLE "api_keys" ADD COLUMN "later" text;`;
const CONCURRENT = `${NO_TRANSACTION}CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "later_index" ON "avatars" ("tenant_id","later");`;

const apply = (migrations: Migration[], policy?: { attempts: number; pauseMs: number }): Promise<boolean> =>
  withLock(database.url, {}, (own) => applyMigrations(own, migrations, policy));
const applied = async (): Promise<number> =>
  (await database.db.client`select 1 from drizzle.__drizzle_migrations where created_at >= ${NEXT}`).length;
const columns = () =>
  database.db.client`select table_name from information_schema.columns where column_name = 'later' order by 1`;

test("a deadlock of a write and a migration: the migration gives up", async () => {
  const write = session(database.url);
  await write.client`begin`;
  await write.client`lock table api_keys in row exclusive mode`;
  const migrated = apply(later(AVATARS_THEN_KEYS));
  await untilBlocked(database.db);
  // The write and the migration wait for each other.
  await write.client`lock table avatars in row exclusive mode`;
  await write.client`commit`;
  await migrated;
  expect(await columns()).toHaveLength(2);
  expect(await applied()).toBe(1);
  await write.close();
});

test("a write that waits behind a migration, which waits for a long transaction: executed during that transaction", async () => {
  const long = session(database.url);
  await long.client`begin`;
  await long.client`lock table api_keys in access share mode`;
  const migrated = apply(later(AVATARS_THEN_KEYS));
  await untilBlocked(database.db);
  await database.db.client`update api_keys set name = name`;
  await database.db.client`update avatars set display_name = display_name`;
  expect(await applied()).toBe(0);
  await long.client`commit`;
  await migrated;
  expect(await applied()).toBe(1);
  await long.close();
});

test("a migration that gets no lock in all its attempts: fails, names the oldest transaction, and is rolled back", async () => {
  const long = session(database.url);
  await long.client`begin`;
  await long.client`lock table api_keys in access share mode`;
  const refused = apply(later(AVATARS_THEN_KEYS), { attempts: 2, pauseMs: 1 });
  await expect(refused).rejects.toThrow(
    /^Migration later_0 got no lock in 2 attempts\. The oldest open transaction: .+, process \d+, for \d+ s\.$/,
  );
  expect(await columns()).toHaveLength(0);
  expect(await applied()).toBe(0);
  await long.close();
});

test("a migration that fails: earlier ones stay applied; the next attempt continues there", async () => {
  const first = `CREATE TABLE "later" ("id" text);`;
  const failing = `CREATE TABLE "too_late" ("id" text);--> statement-breakpoint\nSELECT 1 / 0;`;
  await expect(apply(later(first, failing))).rejects.toMatchObject({ code: "22012" });
  expect(await applied()).toBe(1);
  const [row] = await database.db.client`select to_regclass('later') as one, to_regclass('too_late') as two`;
  expect([row?.["one"], row?.["two"]]).toEqual(["later", null]);
  await apply(later(first, `CREATE TABLE "too_late" ("id" text);`));
  expect(await applied()).toBe(2);
});

test("an index that an interrupted migration left invalid: created again", async () => {
  const { client: own } = database.db;
  await own.unsafe(
    `create table copies (tenant_id text, later text); insert into copies values ('a', 'b'), ('a', 'b')`,
  );
  const onCopies = later(CONCURRENT.replace('"avatars"', '"copies"'));
  await expect(apply(onCopies)).rejects.toMatchObject({ code: "23505" });
  const isValid = async () =>
    (await own`select indisvalid from pg_index where indexrelid = to_regclass('later_index')`)[0]?.["indisvalid"];
  expect(await isValid()).toBe(false);
  await own`delete from copies where ctid = (select min(ctid) from copies)`;
  await apply(onCopies);
  expect(await isValid()).toBe(true);
  expect(await applied()).toBe(1);
});

test("an index that waits for a transaction with writes to its table: other writes pass", async () => {
  const long = session(database.url);
  await database.db.client`alter table avatars add column later text`;
  await long.client`begin`;
  await long.client`lock table avatars in row exclusive mode`;
  const migrated = apply(later(CONCURRENT));
  await untilBlocked(database.db);
  await database.db.client`update avatars set display_name = display_name`;
  await long.client`commit`;
  await migrated;
  expect(await applied()).toBe(1);
  await long.close();
});

test("several processes that build the same index at once: one builds it, without a deadlock", async () => {
  await database.db.client`alter table avatars add column later text`;
  await Promise.all(Array.from({ length: 5 }, () => apply(later(CONCURRENT))));
  expect(await applied()).toBe(1);
});

test("a migration, while another process has the lock: notifies once, and continues when the lock is free", async () => {
  const [told, holding, ending] = [[] as string[], Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const other = withLock(database.url, {}, () => {
    holding.resolve();
    return ending.promise;
  });
  await holding.promise;
  const notified = Promise.withResolvers<void>();
  const notify = (message: string): void => {
    told.push(message);
    notified.resolve();
  };
  const waiting = withLock(database.url, { notify }, async () => "migrated");
  await notified.promise;
  ending.resolve();
  expect(await waiting).toBe("migrated");
  expect(told).toEqual([expect.stringContaining("Waiting for its end.")]);
  await other;
});

test("a migration that takes longer than the timeouts of its role: applied", async () => {
  const { client: own } = database.db;
  const { pathname } = new URL(database.url);
  await own.unsafe(`alter database ${pathname.slice(1)} set statement_timeout = 300`);
  await own.unsafe(`alter database ${pathname.slice(1)} set lock_timeout = 300`);
  await apply(later("SELECT pg_sleep(0.4);", CONCURRENT.replace('"later"', '"status"').replace("UNIQUE ", "")));
  expect(await applied()).toBe(2);
});

test("the statements of a migration, waiting for locks: less than deadlock_timeout in total", async () => {
  const limit = "SELECT current_setting('lock_timeout') AS lock_timeout";
  await apply(later(`CREATE TABLE later AS ${limit};--> statement-breakpoint\nINSERT INTO later ${limit};`));
  const limits = await database.db.client`select rtrim(lock_timeout, 'ms')::integer as ms from later`;
  const [first = 0, second = 0] = limits.map(({ ms }) => ms);
  expect([first <= 400, second < first, second >= 10]).toEqual([true, true, true]);
});

test("an owner without superuser rights, on an empty database: migrated", async () => {
  const empty = await testDatabase({ migrated: false });
  const url = new URL(empty.url);
  const role = `owner_${url.pathname.slice(-12)}`;
  const { client: admin } = empty.db;
  await admin.unsafe(`create role ${role} login password 'x'; alter database ${url.pathname.slice(1)} owner to ${role};
    alter schema public owner to ${role}`);
  url.username = role;
  url.password = "x";
  expect(await migrate(url.href)).toBe(true);
  await admin.unsafe(`reassign owned by ${role} to current_user; drop owned by ${role}; drop role ${role}`);
  await empty.close();
});
