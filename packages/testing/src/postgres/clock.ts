/** A clock that a test sets, for the database functions of one session. */
import { session, type TestDatabase, type TestDb } from "../database.ts";

/**
 * Opens a session in which `clock_timestamp()` and `now()` of every function are `at`, an ISO time with microseconds. PostgreSQL looks
 * for them in the schema of this clock first. Close the session. Not for shards.
 */
export const sessionAt = async ({ url }: Pick<TestDatabase, "url">, at: string): Promise<TestDb> => {
  const db = session(url, { onnotice: () => {} });
  await db.client.unsafe(`
    create schema if not exists test_clock;
    create or replace function test_clock.clock_timestamp() returns timestamptz stable
      return current_setting('test.clock')::timestamptz;
    create or replace function test_clock.now() returns timestamptz stable
      return current_setting('test.clock')::timestamptz;
    set test.clock = '${at}';
    set search_path = test_clock, pg_catalog, public`);
  return db;
};
