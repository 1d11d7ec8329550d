/**
 * The shards of an installation. The coordinator stores their number, and the time at which its one database became
 * shard 0: see `Shards` of the domain.
 */

import { type TenantId, timeOfId } from "@realtime-avatar/domain/id";
import { MAX_SHARDS, type Shards } from "@realtime-avatar/domain/shards";
import type postgres from "postgres";
import type { Db } from "../connection/pool.ts";
import { SCHEMA_NAMES } from "../functions/schema.ts";
import { grantAsInFirst } from "../grant.ts";
import { type LockOptions, migrations, withLock } from "../migrate.ts";
import { isShardCurrent, migrateShard, RENAMED } from "./migrate-shard.ts";
import { nodesOfShards, requireAgreement } from "./placement.ts";
import { functionsInShard, shardSchema, textInShard } from "./shard.ts";

type Row = { count: number; splitAt: Date | null };
const SELECT_SHARDS = `select count, split_at as "splitAt" from public.shards`;
const hasShards = async (client: postgres.Sql): Promise<boolean> =>
  (await client`select 1 where to_regclass('public.shards') is not null`).length > 0;

/** The shards of the installation with this coordinator; null for one database. */
export const findShards = async (coordinator: Db): Promise<Shards | null> => {
  const table = await coordinator.run("select 1 where to_regclass('public.shards') is not null", []);
  if (table.length === 0) return null;
  const [row] = await coordinator.run<Row>(SELECT_SHARDS, []);
  return row ?? null;
};

/**
 * Turns the one database into shard 0: its tables and the functions of its triggers move to the schema of the shard.
 * The functions of the service are dropped, because they name the tables at their previous place. Returns the time of
 * the split, which is after the creation of each of its tenants.
 */
const splitDatabase = async (client: postgres.TransactionSql): Promise<Date> => {
  const schema = shardSchema(0);
  await client.unsafe(`create schema ${schema}; drop view public.idempotency_claims, public.pending_changes`);
  const objects = await client<{ kind: string; name: string }[]>`
    select 'table' as kind, format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('public', 'fleet')
    union all
    select 'function', format('public.%I(%s)', proname, pg_get_function_identity_arguments(pg_proc.oid))
    from pg_proc where pronamespace = 'public'::regnamespace and prorettype = 'trigger'::regtype`;
  for (const { kind, name } of objects) await client.unsafe(`alter ${kind} ${name} set schema ${schema}`);
  const functions = await client<{ text: string }[]>`
    select pg_get_functiondef(oid) as text from pg_proc where pronamespace = ${schema}::regnamespace`;
  for (const { text } of functions) await client.unsafe(textInShard(text, 0));
  await client.unsafe(`set local search_path = ${schema}; ${RENAMED}
    create table __drizzle_migrations as select hash, created_at from drizzle.__drizzle_migrations;
    drop schema drizzle cascade; drop schema fleet`);
  const old = await client<
    { name: string }[]
  >`select nspname as name from pg_namespace where nspname ~ ${SCHEMA_NAMES}`;
  for (const { name } of old) await client`drop schema ${client(name)} cascade`;
  const [newest] = await client<{ id: TenantId | null; now: Date }[]>`
    select (select tenant_id from tenants order by tenant_id desc limit 1) as id, date_trunc('milliseconds', now()) as now`;
  const now = newest?.now.getTime() ?? 0;
  return new Date(newest?.id ? Math.max(now, timeOfId(newest.id) + 1) : now);
};

/**
 * Stops `migrate` of a release without shards, which would create empty tables next to the shards and serve them. That
 * release finds a journal that is newer than its own, so it creates no tables. Without tables it cannot create its
 * functions, so it never becomes ready.
 */
const NEWER_JOURNAL = `
  create schema if not exists drizzle;
  create view drizzle.__drizzle_migrations as select ''::text as hash, ${Number.MAX_SAFE_INTEGER}::bigint as created_at`;

/**
 * Throws unless the one database has all migrations of this program: the tables of an earlier schema differ from those
 * of a shard.
 */
const requireCurrentTables = async (client: postgres.Sql): Promise<void> => {
  const [row] = await client<{ newest: string | null }[]>`
    select max(created_at) as newest from drizzle.__drizzle_migrations`;
  if (Number(row?.newest ?? 0) >= (migrations().at(-1)?.when ?? 0)) return;
  throw new Error("The database is of an earlier release. Run `migrate` first, without --shards, then again with it.");
};

/** Throws unless the server is a Citus coordinator that supports schemas as shards. */
const requireCoordinator = async (client: postgres.Sql): Promise<void> => {
  const [server] = await client<{ knowsSchemas: boolean }[]>`
    select to_regproc('citus_schema_distribute') is not null as "knowsSchemas" from pg_extension where extname = 'citus'`;
  if (!server) throw new Error("Shards need Citus: the database of DATABASE_URL does not have the extension citus.");
  if (!server.knowsSchemas)
    throw new Error("Shards need Citus 12 or later: `alter extension citus update` on each node.");
  const [group] = await client<{ id: number }[]>`select groupid as id from pg_dist_local_group`;
  if (group?.id !== 0) throw new Error("DATABASE_URL must be the coordinator of Citus; it is another node.");
};

export type ShardMigration = Shards & {
  /** Whether anything was missing. */
  hasChanged: boolean;
};

type MigrateOptions = LockOptions & {
  /** False in tests without Citus: all shards are then in one database. */
  isPlain?: boolean;
};

/**
 * While nodes are down, no change is possible, because Citus sends a change of the schema to all nodes. Throws when the
 * shards of the nodes that respond need a change. Reports the shards that were not checked.
 */
const requireCurrentShards = async (
  client: postgres.Sql,
  known: number,
  count: number,
  down: readonly string[],
  { notify }: LockOptions,
): Promise<void> => {
  const nodes = await nodesOfShards((text) => client.unsafe(text));
  const shards = Array.from({ length: known }, (_, shard) => shard);
  const unknown = shards.filter((shard) => down.includes(nodes.get(shard) ?? ""));
  for (const shard of shards) {
    if (known === count && (unknown.includes(shard) || (await isShardCurrent(client, shard)))) continue;
    throw new Error(
      `${down.join(", ")} does not respond, and a change of the schema needs all nodes. Start the node, or give up its shards: see "A node that is lost" in docs/scaling.md.`,
    );
  }
  notify?.(`${down.join(", ")} does not respond. Not checked: the shards ${unknown.join(", ") || "of no node"}.`);
};

/**
 * Updates an installation to `count` shards. An empty database gets all of them. An installation with one database
 * turns it into shard 0, and adds the others. An installation with fewer shards gets further ones for new tenants.
 * While one database is split, no replica may use it.
 */
export const migrateShards = (url: string, count: number, options: MigrateOptions = {}): Promise<ShardMigration> =>
  withLock(url, options, async (client) => {
    if (options.isPlain !== true) {
      await requireCoordinator(client);
      // A shard is distributed when its tables are complete, even if Citus is set to distribute each new schema.
      await client`set citus.enable_schema_based_sharding = off`;
    }
    if (!Number.isInteger(count) || count < 1 || count > MAX_SHARDS) {
      throw new Error(`The number of shards must be from 1 to ${MAX_SHARDS}.`);
    }
    if (!(await hasShards(client))) {
      const [table] = await client`select 1 where to_regclass('public.tenants') is not null`;
      if (table) await requireCurrentTables(client);
      await client.begin(async (transaction) => {
        const splitAt = table ? await splitDatabase(transaction) : null;
        await transaction.unsafe(
          "create table public.shards (count integer not null, split_at timestamp(3) with time zone)",
        );
        await transaction`insert into public.shards (count, split_at) values (0, ${splitAt})`;
        await transaction.unsafe(NEWER_JOURNAL);
      });
    }
    const down = options.isPlain === true ? [] : await requireAgreement((text) => client.unsafe(text));
    const [known] = await client.unsafe<Row[]>(SELECT_SHARDS);
    if (!known || known.count > count) throw new Error(`There are ${known?.count} shards: they cannot become fewer.`);
    if (down.length > 0) {
      await requireCurrentShards(client, known.count, count, down, options);
      return { count, splitAt: known.splitAt, hasChanged: false };
    }
    let hasChanged = known.count < count;
    for (let shard = 0; shard < count; shard++) {
      hasChanged = (await migrateShard(client, shard)) || hasChanged;
      if (shard >= Math.max(known.count, 1)) await grantAsInFirst(client, shard);
    }
    // Tenants are created in the new shards only from now on.
    await client`update public.shards set count = ${count}`;
    return { count, splitAt: known.splitAt, hasChanged };
  });

/** Drops the functions of other versions in the shards, like `pruneFunctions` in one database. */
export const pruneShards = (url: string, options: LockOptions = {}): Promise<string[]> =>
  withLock(url, options, async (client) => {
    // Read under the lock, because this command or another one may have added shards.
    const [known] = await client.unsafe<Row[]>(SELECT_SHARDS);
    const current = Array.from({ length: known?.count ?? 0 }, (_, shard) => functionsInShard(shard).name);
    const rows = await client<{ name: string }[]>`
      select nspname as name from pg_namespace
      where nspname ~ '^rta_[0-9a-f]{12}_s[0-9]{2,4}$' and nspname not in ${client(current)} order by nspname`;
    for (const { name } of rows) await client`drop schema ${client(name)} cascade`;
    return rows.map(({ name }) => name);
  });
