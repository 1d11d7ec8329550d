/** Shards of a new database and of an existing one. `moves.test.ts` tests the parts that need Citus. */
import { describe, expect, test } from "bun:test";
import { generateApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { randomInShard, shardOfTenant } from "@realtime-avatar/domain/shards";
import { testDatabase } from "@realtime-avatar/testing/database";
import { fileRole, fixture } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import {
  findTestCaller,
  newClaim,
  plannedAvatar,
  seedAvatar,
  seedKey,
  seedOrigin,
  seedTenant,
} from "@realtime-avatar/testing/seeds";
import { applyMigrations } from "../apply-migrations.ts";
import { insertAvatar } from "../avatars/avatars.ts";
import { connect, type Db } from "../connection/pool.ts";
import { CREATE_FUNCTIONS } from "../functions/schema.ts";
import { grantService } from "../grant.ts";
import { isMigrated, migrate, migrations, withLock } from "../migrate.ts";
import { openDatabase } from "../open.ts";
import { shardOptions } from "./shard.ts";
import { findShards, migrateShards } from "./split.ts";

const open = (url: string, shard: number): Promise<Db> => fixture(connect(url, { shard: shardOptions(shard) }));

/** The shards are on one server without nodes. */
const openInstallation = (url: string) => {
  const config = { databaseUrl: url, dataDirectory: "", deadlineMs: 60_000, connections: 2, prepare: true };
  return fixture(openDatabase({ ...config, isByNode: false }, { refreshMs: null }));
};

const migratePlain = (url: string, count: number) => migrateShards(url, count, { isPlain: true });

describe("the shards of an installation", () => {
  test("a new database: gets shards, then more, but never fewer; the migration of one database refuses it", async () => {
    const { url, db } = await fixture(testDatabase({ migrated: false }));
    expect(await findShards(db)).toBeNull();
    expect(await migratePlain(url, 2)).toEqual({ count: 2, splitAt: null, hasChanged: true });
    expect(await migratePlain(url, 3)).toEqual({ count: 3, splitAt: null, hasChanged: true });
    expect(await migratePlain(url, 3)).toEqual({ count: 3, splitAt: null, hasChanged: false });
    expect(await findShards(db)).toMatchObject({ count: 3, splitAt: null });
    await expect(migratePlain(url, 2)).rejects.toThrow("cannot become fewer");
    await expect(migrateShards(url, 3)).rejects.toThrow("does not have the extension citus");
    await db.client`update shards set count = 0`;
    // The state after an interrupted first run.
    const opened = await openInstallation(url);
    await expect(opened.migrate()).rejects.toThrow("run `migrate --shards <count>` again");
    await db.client`update shards set count = 3`;
    for (const count of [0, 1025, 1.5]) await expect(migratePlain(url, count)).rejects.toThrow("from 1 to 1024");
    for (const shard of [0, 1, 2]) expect(await isMigrated(await open(url, shard))).toBe(true);
    await expect(migrate(url)).rejects.toThrow("in shards");
    expect(await isMigrated(db)).toBe(false);
    // So a release without shards finds all its migrations, but fails at its functions.
    const [row] = await db.client<{ newest: string }[]>`
      select max(created_at) as newest from drizzle.__drizzle_migrations`;
    expect(Number(row?.newest)).toBeGreaterThan(Date.now());
    await expect(db.client.begin((transaction) => transaction.unsafe(CREATE_FUNCTIONS))).rejects.toThrow("not exist");
  });

  test("an added shard: the role of the service has its rights there before tenants are placed in it", async () => {
    const file = await fixture(testDatabase({ migrated: false }));
    const { url } = file;
    await migratePlain(url, 1);
    const role = await fileRole(file);
    await grantService(url, role.role, { shards: [0] });
    await migratePlain(url, 2);
    for (const shard of [0, 1]) expect(await isMigrated(await open(role.url, shard))).toBe(true);
    const own = await open(role.url, 1);
    expect(await own.run("select from avatars", [])).toEqual([]);
    await expect(own.run("delete from avatars", [])).rejects.toThrow();
  });

  test("prune, after the same command has added shards: keeps their functions, and drops those of another version", async () => {
    const { url, db } = await fixture(testDatabase({ migrated: false }));
    await migratePlain(url, 1);
    const opened = await openInstallation(url);
    await migratePlain(url, 2);
    await db.client`create schema rta_0123456789ab_s01`;
    expect(await opened.prune()).toEqual(["rta_0123456789ab_s01"]);
    for (const shard of [0, 1]) expect(await isMigrated(await open(url, shard))).toBe(true);
  });

  test("a shard that was just added: found for a new key; a key of a shard that does not exist: no shard", async () => {
    const { url } = await fixture(testDatabase({ migrated: false }));
    await migratePlain(url, 1);
    const { databases } = await openInstallation(url);
    const { keyId } = generateApiKey("live", randomInShard(random, 1));
    expect(await databases.ofNewKeyId(keyId)).toEqual([]);
    await migratePlain(url, 2);
    expect(databases.ofKeyId(keyId)).toEqual([]);
    const found = await Promise.all([databases.ofNewKeyId(keyId), databases.ofNewKeyId(keyId)]);
    expect(found.flat().map(({ shard }) => shard)).toEqual([1, 1]);
    expect(databases.ofKeyId(keyId).map(({ shard }) => shard)).toEqual([1]);
    expect(await databases.ofNewKeyId(keyId)).toEqual([]);
  });

  test("one database of an earlier release: refused with a remedy, and unchanged", async () => {
    const { url, db } = await fixture(testDatabase({ migrated: false }));
    await withLock(url, {}, (own) => applyMigrations(own, migrations().slice(0, -1)));
    await expect(migratePlain(url, 2)).rejects.toThrow("Run `migrate` first, without --shards");
    expect(await findShards(db)).toBeNull();
    await migrate(url);
    expect(await migratePlain(url, 2)).toMatchObject({ count: 2 });
  });

  test("one database with tenants: becomes shard 0, with its rows, rights and triggers", async () => {
    const { url, db } = await fixture(testDatabase());
    const tenantId = await seedTenant(db);
    const { secret } = await seedKey(db, tenantId, { environment: "live", scopes: ["*"] });
    const caller = await findTestCaller(db, secret.keyId);
    const avatar = plannedAvatar(caller);
    const claim = newClaim("before the split", avatar.id);
    expect(await insertAvatar(db, avatar, null, caller, seedOrigin(caller), claim)).toMatchObject({ kind: "written" });

    const shards = await migratePlain(url, 2);
    expect(await findShards(db)).toMatchObject({ count: 2, splitAt: shards.splitAt });
    expect(shardOfTenant(tenantId, shards)).toBe(0);
    const [zero, one] = [await open(url, 0), await open(url, 1)];
    expect(await isMigrated(zero)).toBe(true);
    const again = await findTestCaller(zero, secret.keyId);
    expect(again).toMatchObject({ id: caller.id, tenantId });
    // The same request, repeated: its response was stored before the split.
    const other = plannedAvatar(again);
    expect(await insertAvatar(zero, other, null, again, seedOrigin(again), claim)).toMatchObject({ kind: "replayed" });
    await seedAvatar(zero, again);
    expect(await zero.run("select count(*)::integer as avatars from avatars", [])).toMatchObject([{ avatars: 2 }]);
    expect(await one.run("select count(*)::integer as tenants from tenants", [])).toMatchObject([{ tenants: 0 }]);
    await expect(zero.run("delete from audit_events", [])).rejects.toThrow();
    const left = await db.client`
      select tablename as name from pg_tables where schemaname in ('public', 'fleet', 'drizzle')
      union all select viewname from pg_views where schemaname = 'public'
      union all select nspname from pg_namespace where nspname ~ '^rta_[0-9a-f]{12}$'`;
    expect([...left]).toEqual([{ name: "shards" }]);
    // The function of a trigger changes the tables of the shard.
    const [{ text } = { text: "" }] = await db.client<{ text: string }[]>`
      select prosrc as text from pg_proc where proname = 'count_usage_session' and pronamespace = 's00'::regnamespace`;
    expect(text).toContain("s00.api_key_meters");
    expect(text).not.toContain("public.");
    await expect(migrate(url)).rejects.toThrow("in shards");
  });
});
