/** Migrations of shards that are distributed and have rows, while the service writes to them. Needs Citus: see `citus.ts`. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { issueApiKey } from "@realtime-avatar/domain/api-keys/create";
import { OPERATOR } from "@realtime-avatar/domain/api-keys/grant";
import { digestApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import { newTenantId } from "@realtime-avatar/domain/shards";
import { client } from "@realtime-avatar/testing/database";
import { CITUS_BIN, startCitus } from "@realtime-avatar/testing/postgres/citus";
import { random } from "@realtime-avatar/testing/random-bytes";
import {
  findTestCaller,
  inStatus,
  operatorOrigin,
  seedAvatar,
  seedCaller,
  seedKey,
  seedOrigin,
} from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { FUNCTION_FILES } from "../../generated/function-files.ts";
import { findApiKey, revokeApiKey } from "../api-keys/api-keys.ts";
import { applyMigrations, NO_TRANSACTION } from "../apply-migrations.ts";
import { updateAvatar } from "../avatars/avatars.ts";
import type { Caller } from "../callers/callers.ts";
import { connect, type Db } from "../connection/pool.ts";
import { isMigrated, migrations, withLock } from "../migrate.ts";
import { moveShard } from "./manage.ts";
import { migrateShard, migrationsIn, prepareDistributed, type Version } from "./migrate-shard.ts";
import { readPlacement } from "./placement.ts";
import { functionsInShard, shardOptions, shardSchema } from "./shard.ts";
import { migrateShards, pruneShards } from "./split.ts";

setDefaultTimeout(300_000);

/** The changes that a later version may apply to tables with rows. Its functions write the new column. */
const LATER = [
  `ALTER TABLE "avatars" ADD COLUMN "later" text;
--> statement-breakpoint
ALTER TABLE "avatars" ADD CONSTRAINT "avatars_later_check" CHECK ("later" <> '') NOT VALID;`,
  `ALTER TABLE "avatars" VALIDATE CONSTRAINT "avatars_later_check";`,
  `${NO_TRANSACTION}CREATE INDEX CONCURRENTLY IF NOT EXISTS "avatars_later_index" ON "avatars" ("tenant_id","later");`,
  `CREATE FUNCTION refuse_later() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'later'; END $$;
--> statement-breakpoint
CREATE TRIGGER avatars_later BEFORE DELETE ON "avatars" FOR EACH ROW EXECUTE FUNCTION refuse_later();`,
].map((text, at) => ({ tag: `later_${at}`, when: Date.UTC(2100, 0) + at, text }));
/**
 * The number of migrations before shards existed. Each shard has had them since its creation, and some cannot be
 * applied to a distributed shard.
 */
const BEFORE_SHARDS = 27;
const SETS = "update public.avatars set\n";
const NEXT: Version = {
  migrations: [...migrations(), ...LATER],
  files: FUNCTION_FILES.map((text) => text.replace(SETS, `${SETS}    later = 'next',\n`)),
};

describe.skipIf(CITUS_BIN === undefined)("an upgrade of a shard", () => {
  let coordinator = "";
  beforeAll(async () => {
    coordinator = await startCitus(CITUS_BIN as string);
    await migrateShards(coordinator, 2);
  });
  const migrateTo = (shard: number, version?: Version): Promise<boolean> =>
    withLock(coordinator, {}, (admin) => migrateShard(admin, shard, version));
  /** The URL of the node that has the shard, and the place of another node. */
  const nodesOf = async (shard: number) => {
    const admin = client(coordinator);
    const own = (await readPlacement((text) => admin.unsafe(text))).get(shard)?.port;
    const nodes = await admin<{ port: number }[]>`select nodeport as port from pg_dist_node where shouldhaveshards`;
    await admin.end();
    const other = nodes.find(({ port }) => port !== own)?.port as number;
    return { url: Object.assign(new URL(coordinator), { port: own }).href, other: { host: "127.0.0.1", port: other } };
  };
  const open = (url: string, shard: number, files?: readonly string[]): Db =>
    connect(url, { shard: shardOptions(shard, files), deadlineMs: 120_000 });

  /** Creates and changes avatars until a stop. Returns their ids. */
  const write = (db: Db, caller: Caller) => {
    const ids: string[] = [];
    let isStopping = false;
    const run = async (): Promise<void> => {
      while (!isStopping) {
        const { id } = await seedAvatar(db, caller);
        const changed = await updateAvatar(db, id, { displayName: "y" }, inStatus("draft"), caller, seedOrigin(caller));
        expect(changed.kind).toBe("written");
        ids.push(id);
      }
    };
    const running = Promise.all([run(), run()]);
    return {
      more: async (): Promise<void> => {
        const before = ids.length;
        await until(() => ids.length >= before + 10);
      },
      stop: async (): Promise<string[]> => {
        isStopping = true;
        await running;
        return ids.toSorted();
      },
    };
  };
  /** Revokes a new key with `one`. Then the other database refuses the key. */
  const revoke = async (one: Db, other: Db, tenantId: TenantId): Promise<void> => {
    const { record, secret } = await seedKey(one, tenantId, { environment: "live", scopes: ["*"] });
    const caller = await findTestCaller(other, secret.keyId);
    const avatar = await seedAvatar(other, caller);
    const key = await findApiKey(one, tenantId, record.id);
    await revokeApiKey(one, key ?? record, { version: null }, null, operatorOrigin());
    const { kind } = await updateAvatar(
      other,
      avatar.id,
      { displayName: "z" },
      inStatus("draft"),
      caller,
      seedOrigin(caller),
    );
    expect(kind).not.toBe("written");
  };

  test("a migration by the next version, while this version writes: both work, also after a move; then one is pruned", async () => {
    const { url, other } = await nodesOf(0);
    const old = open(url, 0);
    const caller = await seedCaller(old);
    const [byOld, next] = [write(old, caller), open(url, 0, NEXT.files)];
    await byOld.more();
    expect([await isMigrated(old), await isMigrated(next)]).toEqual([true, false]);
    expect(await migrateTo(0, NEXT)).toBe(true);
    expect([await isMigrated(old), await isMigrated(next)]).toEqual([true, true]);
    await byOld.more();
    const byNext = write(next, caller);
    await Promise.all([byOld.more(), byNext.more()]);
    await revoke(old, next, caller.tenantId);
    await revoke(next, old, caller.tenantId);
    // These statements use the connections to the previous node.
    await moveShard(coordinator, 0, other);
    await Promise.all([byOld.more(), byNext.more()]);
    // When the older version starts again, it changes nothing, and the rows keep their places.
    expect(await migrateTo(0)).toBe(false);
    const [ofOld, ofNext] = [await byOld.stop(), await byNext.stop()];
    const rows = await next.run<{ id: string; later: string | null }>("select id, later from avatars order by id", []);
    expect(rows.filter(({ later }) => later === "next").map(({ id }) => id)).toEqual(ofNext);
    const withoutNext = rows.filter(({ later }) => later === null).map(({ id }) => id);
    expect(withoutNext).toEqual(expect.arrayContaining(ofOld));

    const own = client(coordinator);
    const index = await own`select 1 from pg_indexes where schemaname = 's00' and indexname = 'avatars_later_index'`;
    expect(index).toHaveLength(1);
    await expect(own.unsafe("delete from s00.avatars")).rejects.toThrow("later");
    await expect(own.unsafe("update s00.avatars set later = ''")).rejects.toThrow("avatars_later_check");
    await own.end();

    const { name } = functionsInShard(0, NEXT.files);
    expect(await pruneShards(coordinator)).toEqual([name]);
    expect(await pruneShards(coordinator)).toEqual([]);
    expect(await isMigrated(next)).toBe(false);
    await expect(seedAvatar(next, caller)).rejects.toThrow();
    await seedAvatar(old, caller);
    await Promise.all([old.close(), next.close()]);
  });

  test("every migration since the first version with shards, on a distributed shard with rows: the rows stay, and the shard serves", async () => {
    const shard = 2;
    const schema = shardSchema(shard);
    const now = new Date();
    const origin = operatorOrigin();
    const tenantId = newTenantId(now, random, { count: 3, splitAt: null }, shard);
    const context = { tenantId, checkedAt: now, now, random, shard };
    const { record, secret } = issueApiKey({ name: "old", environment: "live", scopes: ["*"] }, OPERATOR, context);
    const avatarId = newId("ava", now, random);
    await withLock(coordinator, {}, async (admin) => {
      await prepareDistributed(admin);
      await admin.unsafe(`create schema ${schema}; set search_path = ${schema}, public`);
      const place = { journal: schema, tables: schema };
      await applyMigrations(admin, migrationsIn(shard, migrations().slice(0, BEFORE_SHARDS)), undefined, place);
      await admin`select citus_schema_distribute(${schema}::regnamespace)`;
      await admin`insert into tenants (tenant_id, name, created_at) values (${tenantId}, 'Old', ${now})`;
      await admin`
        insert into api_keys (tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at)
        values (${tenantId}, ${record.id}, ${record.keyId}, 'live', 'old', array['*'], '{}', 1, ${now})`;
      await admin`
        insert into api_key_credentials (key_id, tenant_id, api_key_id, digest, created_at)
        values (${secret.keyId}, ${tenantId}, ${record.id}, ${Buffer.from(digestApiKey(secret))}, ${now})`;
      await admin`
        insert into avatars (tenant_id, id, environment, display_name, source_kind, model_id, status, cache_version, settings,
          metadata, version, created_at, updated_at)
        values (${tenantId}, ${avatarId}, 'live', 'Old', 'video', 'm', 'draft', 0, '{}', '{}', 1, ${now}, ${now})`;
      await admin`
        insert into audit_events (tenant_id, id, environment, action, target_id, request_id, created_at)
        values (${tenantId}, ${newId("aud", now, random)}, 'live', 'avatar.created', ${avatarId}, ${origin.requestId}, ${now})`;
      expect(await migrateShard(admin, shard)).toBe(true);
    });
    const db = open((await nodesOf(shard)).url, shard);
    expect(await isMigrated(db)).toBe(true);
    const caller = await findTestCaller(db, secret.keyId);
    const changed = await updateAvatar(
      db,
      avatarId,
      { displayName: "y" },
      inStatus("draft"),
      caller,
      seedOrigin(caller),
    );
    expect(changed.kind).toBe("written");
    await seedAvatar(db, caller);
    await expect(db.run("delete from audit_events", [])).rejects.toThrow();
    await db.close();
  });
});
