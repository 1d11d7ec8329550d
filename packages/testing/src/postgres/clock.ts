/** A clock that a test sets, for the database functions of some connections. */
import { session, type TestDatabase, type TestDb } from "../database.ts";

/**
 * The URL for connections on which `clock_timestamp()` and `now()` of every function are `at`, an ISO time with up to
 * six digits of a second. PostgreSQL searches the schema of this clock first. Not for Citus.
 */
export const urlAt = async ({ url, db }: Pick<TestDatabase, "url" | "db">, at: string): Promise<string> => {
  await db.client.unsafe(`
    set client_min_messages = warning;
    create schema if not exists test_clock;
    create or replace function test_clock.clock_timestamp() returns timestamptz stable
      return current_setting('test.clock')::timestamptz;
    create or replace function test_clock.now() returns timestamptz stable
      return current_setting('test.clock')::timestamptz;
    grant usage on schema test_clock to public`);
  const changed = new URL(url);
  changed.searchParams.set("search_path", "test_clock,pg_catalog,public");
  changed.searchParams.set("test.clock", at);
  return changed.href;
};

/** Opens a session at this time. Close it. */
export const sessionAt = async (database: Pick<TestDatabase, "url" | "db">, at: string): Promise<TestDb> =>
  session(await urlAt(database, at));
