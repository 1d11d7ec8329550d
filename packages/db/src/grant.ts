/**
 * The rights of the service: exactly those that its statements and functions use. The functions run with the rights of
 * the role that calls them. A row lock needs UPDATE on one column. Each table whose rows are locked has a column that
 * is updated anyway.
 */
import type postgres from "postgres";
import { FUNCTIONS_SCHEMA } from "./functions/schema.ts";
import { type LockOptions, withLock } from "./migrate.ts";
import { functionsInShard, shardSchema, textInShard } from "./shards/shard.ts";

const RIGHTS = [
  "usage on schema public, drizzle, fleet",
  "select on drizzle.__drizzle_migrations",
  `select, insert, update (key_id, name, scopes, spend_limit_credit_micros, max_concurrent_sessions, expires_at, revoked_at, ended_at, version)
    on public.api_keys`,
  "select, insert, update (retired_at, retired_by, is_unused), delete on public.api_key_credentials",
  "select, insert, update (announced_at), delete on public.pending_changes",
  "select, insert, update (last_used_at) on public.api_key_usage",
  `select, insert, update (attempt_id, body_hash, status, location, etag, response_body, sealed_for, response_fields, created_at), delete
    on public.idempotency_claims`,
  `select, insert, update (display_name, model_id, status, source_asset_id, pending_source_asset_id, default_voice_id, generation,
    error, checks, preview_token, preview_file, cache_manifest_id, cache_version, settings, metadata, version, updated_at)
    on public.avatars`,
  `select, insert, update (status, content_type, size_bytes, sha256, public_type, reserved_bytes, error_code, error_detail,
    duration_ms, version, updated_at) on public.assets`,
  `select, insert, update (text, status, progress, asset_id, duration_ms, billed_seconds, billed_credit_micros, error_code,
    error_detail, warnings, version, updated_at) on public.videos`,
  "select, insert, update (assets, bytes) on public.asset_meters",
  "select, insert, update (run_at, leased_until, lease, attempts, lost_leases, last_error), delete on public.jobs",
  "select, insert, update (job_id, lease, leased_until, started_at) on public.job_slots",
  "select, insert on public.audit_events, public.credit_entries",
  // Without `granted`, because only the operator grants credits. Triggers refuse entries of the operator, and a
  // decrease of `settled`.
  `select, update (settled, reserved, open_sessions, low_threshold, exhausted_at, version, updated_at)
    on public.credit_accounts`,
  "select, insert, update (settled, reserved, open_sessions, spend_notice, expiry_notice) on public.api_key_meters",
  // Includes `reserved`, because the hold of a call grows.
  `select, insert, update (status, used, reserved, reported, reported_by, closed_by, must_end, is_counted, reason, version, started_at,
    ended_at, expires_at) on public.usage_sessions`,
  "select, insert, update (name, role, version), delete on public.users",
  "select, insert, update (counter, is_backed_up, name, version, last_used_at), delete on public.passkeys",
  "select, insert, update (last_used_at), delete on public.user_identities",
  "select, insert, update (verified_until, version), delete on public.user_sessions",
  "select, insert, update (last_seen_at), delete on public.people_seen",
  `select, insert, update (id, digest, role, user_id, created_by, created_at, expires_at), delete
    on public.invitations`,
  "select, insert, update (expires_at), delete on public.spent_challenges",
  "select, insert, update (room, room_name, room_number, input, generation, counts_from, gap_count, gap_seconds) on public.calls",
  "update (has_history, speaking, handovers, lost_processes) on public.calls",
  // These counters only grow.
  "update (input_tokens, output_tokens, estimated_tokens, heard_seconds, spoken_characters) on public.calls",
  `select, insert, update (input_tokens, output_tokens, estimated_tokens, heard_seconds, spoken_characters)
    on public.conversation_usage`,
  "select, insert, update (url, token, digest, identity), delete on public.call_agents",
  `select, insert, update (text, instructions, status, heard, generation, version, ended_at), delete
    on public.call_turns`,
  "select, insert, update (polled_at, test_polls), delete on public.call_tickets",
  `select, insert, update (receiver, is_kept, ended_at, size_bytes, is_truncated, is_complete, worker_id, due_at, lease, leased_until,
    attempt_count), delete on public.call_transcripts`,
  "select, insert, delete on public.call_segments",
  "select, insert, update (observations, updated_at), delete on public.connection_histories",
  `select, insert, update (size_bytes, fragment_count, ended_at, worker_id, due_at, lease, leased_until, attempt_count), delete
    on public.call_recordings`,
  "select, insert, delete on public.recording_fragments",
  "select, insert, update (retry_at), delete on public.unneeded_files",
  `select, insert, update (status, key, size_bytes, duration_ms, media_started_at, media_ended_at, error_code, ended_at,
    retained_until), delete
    on public.recordings`,
  "select, insert, update (features, voices, models, slots, lease_until, synced_at), delete on fleet.avatar_workers",
  "select, insert, update (tenant_id, session_id, has_news), delete on fleet.avatar_slots",
  "select, insert, update (id, avatar_id, worker_id, ends_at, has_news), delete on fleet.avatar_preloads",
  `select, insert, update (url, description, events, ordered, status, disabled_reason, secret, previous_secret,
    previous_secret_expires_at, failing_since, slow_until, recovery_next_at, recovery_next_id, recovery_last_id, recovered_at,
    claimed_at, version, updated_at), delete on public.webhook_endpoints`,
  "select, insert, update (claimed_at) on public.webhook_turns",
  "select, insert, update (failures, probes, next_release_at, resent_until), delete on public.webhook_hosts",
  "select, insert, update (body), delete on public.webhook_events",
  `select, insert, update (status, waits, attempts, attempt_count, next_attempt_at, lease, leased_until, budget_host), delete
    on public.webhook_deliveries`,
  "select on fleet.service",
  "select (tenant_id, name) on public.tenants",
  "select, insert, update (keeps_transcripts, version, updated_at) on public.tenant_settings",
  `execute on all functions in schema ${FUNCTIONS_SCHEMA}`,
  // `isMigrated` checks only this right.
  `usage on schema ${FUNCTIONS_SCHEMA}`,
];

/** The same rights in a shard, for its tables, its journal and its functions. */
const rightsInShard = (shard: number): string[] => {
  const schema = shardSchema(shard);
  return RIGHTS.map((right) =>
    textInShard(
      right
        .replace("on schema public, drizzle, fleet", `on schema ${schema}`)
        .replace(FUNCTIONS_SCHEMA, functionsInShard(shard).name),
      shard,
    ),
  );
};

/** The roles with the rights of the service in a shard, in this version. */
export const rolesIn = async (client: postgres.Sql, shard: number): Promise<string[]> => {
  const rows = await client<{ name: string }[]>`
    select distinct rolname as name from pg_namespace
    cross join aclexplode(nspacl) join pg_roles on pg_roles.oid = grantee
    where nspname = ${functionsInShard(shard).name} and grantee <> nspowner and privilege_type = 'USAGE'`;
  return rows.map(({ name }) => name);
};

const grantAll = (client: postgres.Sql, rights: readonly string[], role: string): Promise<unknown> => {
  const name = `"${role.replaceAll('"', '""')}"`;
  const grants = rights.map((right) => `grant ${right} to ${name};`).join("\n");
  return client.begin((transaction) => transaction.unsafe(grants));
};

/** Gives roles the rights of the service in a shard. */
export const grantInShard = async (client: postgres.Sql, shard: number, roles: readonly string[]): Promise<void> => {
  for (const role of roles) await grantAll(client, rightsInShard(shard), role);
};

/**
 * Gives the roles of the service in shard 0 the same rights in a new shard. Each replica finds the new shard by itself;
 * without these rights it would not be ready.
 */
export const grantAsInFirst = async (client: postgres.Sql, shard: number): Promise<void> =>
  grantInShard(client, shard, await rolesIn(client, 0));

type Role = { isOwner: boolean; mayCreate: boolean };

/**
 * Gives an existing role the rights of the service, in one transaction: on one database, or in these shards. Revokes no
 * right, so that a replica of an older version keeps working. Throws when the role does not exist, or has rights beyond
 * those of the service.
 */
export const grantService = (
  url: string,
  role: string,
  options: LockOptions & { shards?: readonly number[] | undefined } = {},
): Promise<void> =>
  withLock(url, options, async (client) => {
    const [known] = await client<Role[]>`
      select pg_has_role(rolname, tableowner, 'member') as "isOwner",
        has_schema_privilege(rolname, 'public', 'create') as "mayCreate"
      from pg_roles, pg_tables where rolname = ${role} and tablename = 'audit_events'
        and schemaname = ${options.shards?.[0] === undefined ? "public" : shardSchema(options.shards[0])}`;
    if (!known) throw new Error("--grant: The role does not exist.");
    if (known.isOwner) throw new Error("--grant: The role owns the tables, or is a superuser. Name another role.");
    if (known.mayCreate) {
      // An object there could replace a function of PostgreSQL.
      throw new Error("--grant: The role may create objects in the schema public. Revoke that right first.");
    }
    const rights = options.shards?.flatMap(rightsInShard) ?? RIGHTS;
    const table = await client`select 1 where to_regclass('public.shards') is not null`;
    const all = table.length === 0 ? rights : [...rights, "select on public.shards"];
    await grantAll(client, all, role);
  });
