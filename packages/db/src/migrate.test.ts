import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isMigrated, migrate } from "./migrate.ts";
import { type TestDatabase, testDatabase } from "./testing.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase({ migrated: false });
});
afterAll(() => database.close());

const applied = async (): Promise<number> => {
  const [row] = await database.db.client`select count(*)::int as count from drizzle.__drizzle_migrations`;
  return row?.["count"];
};

describe("migrate", () => {
  test("brings an empty database up to date, once, however many start at the same time", async () => {
    expect(await isMigrated(database.db)).toBe(false);
    await Promise.all(Array.from({ length: 5 }, () => migrate(database.url)));
    expect(await isMigrated(database.db)).toBe(true);
    const files = (await readdir(join(import.meta.dir, "../migrations"))).filter((name) => name.endsWith(".sql"));
    expect(await applied()).toBe(files.length);
  });

  test("changes nothing the second time", async () => {
    await migrate(database.url);
    const before = await applied();
    await migrate(database.url);
    expect(await applied()).toBe(before);
  });

  test("a database that lacks the newest migration is not current, one that is ahead of us is", async () => {
    await migrate(database.url);
    const journal = database.db.client;
    await journal`update drizzle.__drizzle_migrations set created_at = created_at - 1000000`;
    expect(await isMigrated(database.db)).toBe(false);
    await journal`update drizzle.__drizzle_migrations set created_at = created_at + 2000000`;
    expect(await isMigrated(database.db)).toBe(true);
  });
});
