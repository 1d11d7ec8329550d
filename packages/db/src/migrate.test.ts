import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type TestDatabase, testDatabase } from "@realtime-avatar/testing/database";
import { isMigrated, migrate } from "./migrate.ts";

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
  test("applies each migration once when several processes start at the same time", async () => {
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

  test("a database without the newest migration is not migrated; a newer one is", async () => {
    await migrate(database.url);
    const journal = database.db.client;
    await journal`update drizzle.__drizzle_migrations set created_at = created_at - 1000000`;
    expect(await isMigrated(database.db)).toBe(false);
    await journal`update drizzle.__drizzle_migrations set created_at = created_at + 2000000`;
    expect(await isMigrated(database.db)).toBe(true);
  });
});

describe("the migrations", () => {
  const root = join(import.meta.dir, "..");

  test("are current: nothing is left to generate from schema.ts", async () => {
    const out = await mkdtemp(join(root, "migrations-test-"));
    try {
      await cp(join(root, "migrations"), out, { recursive: true });
      const before = await readdir(out);
      const command = ["--bun", "drizzle-kit", "generate", "--dialect", "postgresql", "--schema", "./src/*schema.ts"];
      const child = Bun.spawn([process.execPath, "x", ...command, "--out", `./${out.slice(root.length + 1)}`], {
        cwd: root,
        stdout: "pipe",
        stderr: "pipe",
      });
      expect(await new Response(child.stdout).text()).toContain("No schema changes");
      expect(await readdir(out)).toEqual(before);
    } finally {
      await rm(out, { recursive: true });
    }
  });
});
