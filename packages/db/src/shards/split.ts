/**
 * The shards of an installation. The coordinator has their number, and the time at which its one database became shard 0: see
 * `Shards` of the domain.
 */

import { type TenantId, timeOfId } from "@realtime-avatar/domain/id";
import { MAX_SHARDS, type Shards } from "@realtime-avatar/domain/shards";
import type postgres from "postgres";
import type { Db } from "../connection/pool.ts";
import type { ConnectionOptions } from "../connection/server/connection.ts";
import { SCHEMA_NAMES } from "../functions/schema.ts";
import { withLock } from "../migrate.ts";
import { migrateShard, RENAMED } from "./migrate-shard.ts";
import { schemaOf, textInShard } from "./shard.ts";

type Row = { count: number; splitAt: Date | null };
const SELECT_SHARDS = `select count, split_at as "splitAt" from public.shards`;
const hasShards = async (client: postgres.Sql): Promise<boolean> =>
  (await client`select 1 where to_regclass('public.shards') is not null`).length > 0;

/** The shards of the installation whose coordinator this is; null for one database. */
export const findShards = async (coordinator: Db): Promise<Shards | null> => {
  const table = await coordinator.run("select 1 where to_regclass('public.shards') is not null", []);
  if (table.length === 0) return null;
  const [row] = await coordinator.run<Row>(SELECT_SHARDS, []);
  return row ?? null;
};

/**
 * Makes shard 0 of the one database: its tables and the functions of its triggers move to the schema of the shard. The functions of
 * the service are dropped: they name the tables where they were. Returns when it was split: later than each of its tenants is old.
 */
const splitDatabase = async (client: postgres.TransactionSql): Promise<Date> => {
  const schema = schemaOf(0);
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
 * Brings an installation of `count` shards up to date. An empty database gets them, one database becomes shard 0 of them, and one
 * with fewer shards gets further ones, for new tenants. While one database is split, no replica may use it.
 */
export const migrateShards = (
  url: string,
  count: number,
  options: Pick<ConnectionOptions, "allowWeakAuth"> = {},
): Promise<Shards> =>
  withLock(url, options, async (client) => {
    if (!Number.isInteger(count) || count < 1 || count > MAX_SHARDS) {
      throw new Error(`There can be from 1 to ${MAX_SHARDS} shards.`);
    }
    if (!(await hasShards(client))) {
      const [table] = await client`select 1 where to_regclass('public.tenants') is not null`;
      await client.begin(async (transaction) => {
        const splitAt = table ? await splitDatabase(transaction) : null;
        await transaction.unsafe(
          "create table public.shards (count integer not null, split_at timestamp(3) with time zone)",
        );
        await transaction`insert into public.shards (count, split_at) values (0, ${splitAt})`;
      });
    }
    const [known] = await client.unsafe<Row[]>(SELECT_SHARDS);
    if (!known || known.count > count) throw new Error(`There are ${known?.count} shards: they cannot become fewer.`);
    for (let shard = 0; shard < count; shard++) await migrateShard(client, shard);
    // Only now are tenants created in them.
    await client`update public.shards set count = ${count}`;
    return { count, splitAt: known.splitAt };
  });
