/** Updates a shard: its tables, with the migrations of one database, and its functions. */
import type postgres from "postgres";
import { FUNCTION_FILES } from "../../generated/function-files.ts";
import { applyMigrations, BREAKPOINT, type Migration } from "../apply-migrations.ts";
import { DIGEST, functionsDigest } from "../functions/schema.ts";
import { grantInShard, rolesIn } from "../grant.ts";
import { migrations } from "../migrate.ts";
import { CALLED_FUNCTIONS, functionsInShard, shardSchema, textInShard } from "./shard.ts";

/**
 * On one database, two tables have views with their new names. Citus cannot update views, and no earlier release runs
 * on a shard. So the tables of a shard have the new names from the start.
 */
export const RENAMED = `
alter table idempotency_keys rename to idempotency_claims;
alter table idempotency_claims rename column api_key_id to caller_id;
alter table idempotency_claims rename column audit_event_id to attempt_id;
alter table idempotency_claims rename column answer to response_body;
alter table idempotency_claims rename column figures to response_fields;
alter table api_key_pending_changes rename to pending_changes;
alter table pending_changes rename column api_key_id to subject_id;
`;
const IN_SHARD: Record<string, string> = { "0021_column_names": RENAMED };

/**
 * A constraint without the name of its table: Citus sends the text to a node, where the part of the table has another
 * name.
 */
const withoutTable = (statement: string): string => {
  const [, table] = /^\s*ALTER TABLE (?:"\w+"\.)?"(\w+)"/.exec(statement) ?? [];
  return table === undefined ? statement : statement.replaceAll(`"${table}".`, "");
};

/** Extensions stay in `public`, which all shards share. */
export const migrationsIn = (shard: number, all: readonly Migration[]): Migration[] =>
  all.map((migration) => {
    const text = migration.text
      .replace('CREATE SCHEMA "fleet";', "")
      .replaceAll(/CREATE EXTENSION IF NOT EXISTS "\w+"/g, "$& WITH SCHEMA public");
    const own = textInShard(text, shard).split(BREAKPOINT).map(withoutTable).join(BREAKPOINT);
    return { ...migration, text: IN_SHARD[migration.tag] ?? own };
  });

/** The migrations and functions of a version of the program: this version, or others in tests. */
export type Version = { migrations: readonly Migration[]; files: readonly string[] };

/** Whether the server has Citus. */
const hasCitus = async (client: postgres.Sql): Promise<boolean> =>
  (await client`select 1 from pg_extension where extname = 'citus'`).length > 0;

/**
 * Prepares a session that changes the tables of shards. Triggers protect them on every node, wherever the shard is;
 * Citus requires a setting for this. The limit of a wait for locks also applies on the nodes.
 */
export const prepareDistributed = (client: postgres.Sql): Promise<unknown> =>
  client.unsafe("set citus.enable_unsafe_triggers = on; set citus.propagate_set_commands = 'local'");

type Functions = { name: string; create: string };

/** Whether every server that responds has these functions with these texts. */
const hasFunctions = async (client: postgres.Sql, { name, create }: Functions, isDistributed: boolean) => {
  const digest = `select ${DIGEST} as result from pg_proc where pronamespace = to_regnamespace('${name}')`;
  const everywhere = `select result from run_command_on_all_nodes('${digest.replaceAll("'", "''")}', give_warning_for_connection_errors => true)
    where success`;
  const found = await client.unsafe<{ result: string | null }[]>(isDistributed ? everywhere : digest);
  return found.every(({ result }) => result === functionsDigest(create));
};

/**
 * Creates the functions of a shard. Incomplete functions are dropped first. The roles of the service keep their rights.
 */
const createFunctions = async (
  client: postgres.Sql,
  shard: number,
  { name, create }: Functions,
  isDistributed: boolean,
): Promise<void> => {
  const roles = await rolesIn(client, shard);
  // With this, the text that Citus sends to the nodes has a schema for every name.
  await client.unsafe("set search_path = pg_catalog");
  await client.begin(async (transaction) => {
    await transaction.unsafe(`drop schema if exists ${name} cascade`);
    await transaction.unsafe(create);
    // On a connection to another node, after a move of the shard, Citus runs the whole call on the node of the shard.
    if (isDistributed) {
      await transaction`
        select create_distributed_function(oid, colocate_with => ${`${shardSchema(shard)}.tenants`})
        from pg_proc where pronamespace = ${name}::regnamespace and proname in ${transaction([...CALLED_FUNCTIONS])}`;
    }
  });
  await grantInShard(client, shard, roles);
};

/** Whether a shard has all migrations, and the functions of this program on every node that responds. Only reads. */
export const isShardCurrent = async (client: postgres.Sql, shard: number): Promise<boolean> => {
  const [row] = await client.unsafe<{ newest: string | null }[]>(
    `select max(created_at) as newest from ${shardSchema(shard)}.__drizzle_migrations`,
  );
  const isNewest = Number(row?.newest ?? 0) >= (migrations().at(-1)?.when ?? 0);
  return isNewest && (await hasFunctions(client, functionsInShard(shard), true));
};

/**
 * Creates a shard, or applies its pending migrations. Creates the functions of this program for it. On Citus, a new
 * shard with all its tables and triggers is distributed as a whole to one of the nodes. Returns whether anything was
 * missing.
 */
export const migrateShard = async (
  client: postgres.Sql,
  shard: number,
  version: Version = { migrations: migrations(), files: FUNCTION_FILES },
): Promise<boolean> => {
  const schema = shardSchema(shard);
  const isDistributed = await hasCitus(client);
  if (isDistributed) await prepareDistributed(client);
  await client.unsafe(`create schema if not exists ${schema}; set search_path = ${schema}, public`);
  const isApplied = await applyMigrations(client, migrationsIn(shard, version.migrations), undefined, {
    journal: schema,
    tables: schema,
  });
  if (isDistributed) {
    const [known] = await client`select 1 from citus_schemas where schema_name = ${schema}::regnamespace`;
    if (!known) await client`select citus_schema_distribute(${schema}::regnamespace)`;
  }
  const functions = functionsInShard(shard, version.files);
  if (await hasFunctions(client, functions, isDistributed)) return isApplied;
  await createFunctions(client, shard, functions, isDistributed);
  return true;
};
