/** A shard is a schema. These tests run on one database. `moves.test.ts` tests the parts that need Citus. */
import { describe, expect, test } from "bun:test";
import { client } from "@realtime-avatar/testing/database";
import { fileDatabase, fileRole, fixture } from "@realtime-avatar/testing/fixture";
import {
  findTestCaller,
  operatorOrigin,
  seedAvatar,
  seedCaller,
  seedKey,
  seedTenant,
} from "@realtime-avatar/testing/seeds";
import { CALLED_FILES, FUNCTION_FILES } from "../../generated/function-files.ts";
import { findApiKey, revokeApiKey } from "../api-keys/api-keys.ts";
import { findCredential } from "../callers/callers.ts";
import { connect, type Db } from "../connection/pool.ts";
import { CREATE_FUNCTIONS, FUNCTIONS_SCHEMA } from "../functions/schema.ts";
import { grantService } from "../grant.ts";
import { isMigrated, migrate, withLock } from "../migrate.ts";
import { migrateShard } from "./migrate-shard.ts";
import { functionsInShard, shardOptions, textInShard } from "./shard.ts";

const functionsOf = (text: string): string[] => text.split(/(?=^create function )/m).slice(1);
const nameOf = (text: string): string => /^create function \w+\.(\w+)/.exec(text)?.[1] ?? "";

describe("the texts of a shard", () => {
  const { name, create } = functionsInShard(7);

  test("the functions of one database: unchanged, without the hold", () => {
    expect(CREATE_FUNCTIONS).not.toContain("hold_shard");
    expect(FUNCTIONS_SCHEMA).toMatch(/^rta_[0-9a-f]{12}$/);
  });

  test("the functions of two shards: each shard has a separate schema, with only its tables", () => {
    expect(name).toMatch(/^rta_[0-9a-f]{12}_s07$/);
    expect(functionsInShard(1023).name).toMatch(/^rta_[0-9a-f]{12}_s1023$/);
    expect(functionsInShard(8).name).not.toBe(name);
    expect(create.replaceAll(/--.*/g, "")).not.toMatch(/\b(public|fleet|rta)\./);
    expect(create).toContain("s07.usage_sessions");
    expect(create).toContain("s07.avatar_slots");
  });

  test("each function that the service calls and that may write: holds the shard first; other functions do not", () => {
    const called = [...CALLED_FILES].map((text) => nameOf(text.slice(text.indexOf("create function "))));
    expect(called.length).toBeGreaterThan(60);
    for (const text of functionsOf(create)) {
      const isStable = /\blanguage \w+ stable\b/.test(text);
      // A claim of a job first reads one entry, because usually no job is due.
      const first =
        nameOf(text) === "claim_job"
          ? new RegExp(`return;\\n  end if;\\n  perform ${name}\\.hold_shard\\(\\);\\n  for v_tenant in`)
          : new RegExp(` as \\$\\$\\n(?:#.*\\n)?declare\\n  v_hold boolean := ${name}\\.hold_shard\\(\\);\\n`);
      const shouldHold = called.includes(nameOf(text)) && !isStable;
      expect([nameOf(text), first.test(text)]).toEqual([nameOf(text), shouldHold]);
    }
    expect(functionsOf(create).filter((text) => nameOf(text) === "hold_shard")).toHaveLength(1);
    expect(functionsOf(create)).toHaveLength(
      FUNCTION_FILES.filter((text) => text.includes("create function ")).length + 1,
    );
  });

  test("a statement for a shard: has its tables and functions, and always the same text", () => {
    const { textOf, searchPath } = shardOptions(7);
    const text = `select ${FUNCTIONS_SCHEMA}.may_report(a, b, c) from "fleet"."avatar_slots", jobs, public.calls`;
    expect(textOf(text)).toBe(`select ${name}.may_report(a, b, c) from "s07"."avatar_slots", jobs, s07.calls`);
    expect(textOf(text)).toBe(textOf(text));
    expect(searchPath).toBe("s07");
    expect(textInShard("select from jobs", 3)).toBe("select from jobs");
  });
});

const SHARDS = [4, 5] as const;
const database = await fileDatabase({ migrated: false });
const migrateAll = (): Promise<void> =>
  withLock(database.url, {}, async (admin) => {
    for (const shard of SHARDS) await migrateShard(admin, shard);
  });
await migrateAll();
const open = (shard: number, url = database.url): Promise<Db> =>
  fixture(connect(url, { connectMs: 30_000, shard: shardOptions(shard) }));
const [four, five] = [await open(4), await open(5)];

describe("two shards in one database", () => {
  test("shards, migrated again: unchanged, like the other tables of the database", async () => {
    await migrateAll();
    expect(await isMigrated(four)).toBe(true);
    expect(await isMigrated(await open(6))).toBe(false);
    expect(await migrate(database.url)).toBe(true);
    await seedCaller(database.db);
    await migrateAll();
    const own = client(database.url);
    const tables = await own<{ schema: string; count: number }[]>`
      select schemaname as schema, count(*)::integer as count from pg_tables
      where schemaname in ('public', 's04', 's05') and tablename <> '__drizzle_migrations' group by 1 order by 1`;
    const [all = 0] = tables.map(({ count }) => count);
    // Includes the tables of the schema fleet.
    expect([...tables]).toEqual([
      { schema: "public", count: all },
      { schema: "s04", count: all + 4 },
      { schema: "s05", count: all + 4 },
    ]);
    await own.end();
  });

  test("a tenant of one shard: its keys and avatars are only in this shard", async () => {
    const tenantId = await seedTenant(four);
    const { record, secret } = await seedKey(four, tenantId, { environment: "live", scopes: ["*"] });
    const caller = await findTestCaller(four, secret.keyId);
    await seedAvatar(four, caller);
    expect(await findCredential(five, secret.keyId)).toBeNull();
    expect(await findApiKey(five, tenantId, record.id)).toBeNull();
    expect(await revokeApiKey(four, record, { version: null }, null, operatorOrigin())).toMatchObject({
      kind: "written",
    });
    const [row] = await four.run<{ avatars: string; events: string }>(
      "select (select count(*) from avatars) as avatars, (select count(*) from audit_events) as events",
      [],
    );
    expect(row).toMatchObject({ avatars: "1", events: "3" });
    const [other] = await five.run<{ tenants: string }>("select count(*) as tenants from tenants", []);
    expect(other).toMatchObject({ tenants: "0" });
  });

  test("the tables of a shard: append-only where those of one database are, without views", async () => {
    const own = client(database.url);
    await expect(own.unsafe("delete from s04.audit_events")).rejects.toThrow();
    const views = await own`select 1 from pg_views where schemaname = 's04'`;
    expect(views).toHaveLength(0);
    await own.end();
  });

  test("a role with the rights of the service in one shard: works only there", async () => {
    const role = await fileRole(database);
    await grantService(database.url, role.role, { shards: [5] });
    const tenantId = await seedTenant(five);
    const { secret } = await seedKey(five, tenantId, { environment: "live", scopes: ["*"] });
    const [own, foreign] = [await open(5, role.url), await open(4, role.url)];
    expect(await isMigrated(own)).toBe(true);
    const avatar = await seedAvatar(own, await findTestCaller(own, secret.keyId));
    expect(avatar.tenantId).toBe(tenantId);
    await expect(foreign.run("select from avatars", [])).rejects.toThrow();
    await expect(own.run("delete from avatars", [])).rejects.toThrow();
  });
});
