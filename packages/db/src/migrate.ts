/// <reference path="./sql-files.d.ts" />
/**
 * Brings a database up to date: its tables by migrations, and the functions of this program. Both are part of the
 * program, so that a bundle needs no files beside it. An advisory lock prevents two processes from migrating at the
 * same time.
 */
import type postgres from "postgres";
import initial from "../migrations/0000_initial.sql" with { type: "text" };
import auditAppendOnly from "../migrations/0001_audit_append_only.sql" with { type: "text" };
import lifeOfKeysAndAvatars from "../migrations/0002_life_of_keys_and_avatars.sql" with { type: "text" };
import idempotency from "../migrations/0003_idempotency.sql" with { type: "text" };
import cheaperChecks from "../migrations/0004_cheaper_checks.sql" with { type: "text" };
import rotation from "../migrations/0005_rotation.sql" with { type: "text" };
import listIndexes from "../migrations/0006_list_indexes.sql" with { type: "text" };
import firstTenant from "../migrations/0007_first_tenant.sql" with { type: "text" };
import endedKeys from "../migrations/0008_ended_keys.sql" with { type: "text" };
import credits from "../migrations/0009_credits.sql" with { type: "text" };
import assets from "../migrations/0010_assets.sql" with { type: "text" };
import avatarSources from "../migrations/0011_avatar_sources.sql" with { type: "text" };
import dropUnusedIndex from "../migrations/0012_drop_unused_index.sql" with { type: "text" };
import preparations from "../migrations/0013_preparations.sql" with { type: "text" };
import preparationJobs from "../migrations/0014_preparation_jobs.sql" with { type: "text" };
import people from "../migrations/0015_people.sql" with { type: "text" };
import userIdentities from "../migrations/0016_user_identities.sql" with { type: "text" };
import oneInvitation from "../migrations/0017_one_invitation.sql" with { type: "text" };
import sessionLimits from "../migrations/0018_session_limits.sql" with { type: "text" };
import normalAddresses from "../migrations/0019_normal_addresses.sql" with { type: "text" };
import claimsOfDeadWorkers from "../migrations/0020_claims_of_dead_workers.sql" with { type: "text" };
import columnNames from "../migrations/0021_column_names.sql" with { type: "text" };
import calls from "../migrations/0022_calls.sql" with { type: "text" };
import webhooks from "../migrations/0023_webhooks.sql" with { type: "text" };
import nameIndexes from "../migrations/0024_name_indexes.sql" with { type: "text" };
import auditActorIndex from "../migrations/0025_audit_actor_index.sql" with { type: "text" };
import ownRooms from "../migrations/0026_own_rooms.sql" with { type: "text" };
import sweepAt from "../migrations/0027_sweep_at.sql" with { type: "text" };
import sweepIndexes from "../migrations/0028_sweep_indexes.sql" with { type: "text" };
import dropDeliveryChecks from "../migrations/0029_drop_delivery_checks.sql" with { type: "text" };
import deliveryChecks from "../migrations/0030_delivery_checks.sql" with { type: "text" };
import validDeliveryChecks from "../migrations/0031_valid_delivery_checks.sql" with { type: "text" };
import indexesBesideKeys from "../migrations/0032_indexes_beside_keys.sql" with { type: "text" };
import webhookRecoveries from "../migrations/0033_webhook_recoveries.sql" with { type: "text" };
import webhookRecoveryIndexes from "../migrations/0034_webhook_recovery_indexes.sql" with { type: "text" };
import callSeconds from "../migrations/0035_call_seconds.sql" with { type: "text" };
import videos from "../migrations/0036_videos.sql" with { type: "text" };
import videoIndexes from "../migrations/0037_video_indexes.sql" with { type: "text" };
import validVideoChecks from "../migrations/0038_valid_video_checks.sql" with { type: "text" };
import avatarPreloads from "../migrations/0039_avatar_preloads.sql" with { type: "text" };
import callRooms from "../migrations/0040_call_rooms.sql" with { type: "text" };
import callRoomIndex from "../migrations/0041_call_room_index.sql" with { type: "text" };
import entriesOfOperator from "../migrations/0042_entries_of_operator.sql" with { type: "text" };
import callTurns from "../migrations/0043_call_turns.sql" with { type: "text" };
import workerCatalogs from "../migrations/0044_worker_catalogs.sql" with { type: "text" };
import callTranscripts from "../migrations/0045_call_transcripts.sql" with { type: "text" };
import conversationUsage from "../migrations/0046_conversation_usage.sql" with { type: "text" };
import keptTranscripts from "../migrations/0047_kept_transcripts.sql" with { type: "text" };
import keptTranscriptIndexes from "../migrations/0048_kept_transcript_indexes.sql" with { type: "text" };
import recovery from "../migrations/0049_recovery.sql" with { type: "text" };
import callHistoryIndex from "../migrations/0050_call_history_index.sql" with { type: "text" };
import maxCallSeconds from "../migrations/0051_max_call_seconds.sql" with { type: "text" };
import maxCallSecondsCheck from "../migrations/0052_max_call_seconds_check.sql" with { type: "text" };
import validMaxCallSecondsCheck from "../migrations/0053_valid_max_call_seconds_check.sql" with { type: "text" };
import recordings from "../migrations/0054_recordings.sql" with { type: "text" };
import settingsVersion from "../migrations/0055_settings_version.sql" with { type: "text" };
import unneededFileRetries from "../migrations/0056_unneeded_file_retries.sql" with { type: "text" };
import unneededFileDueIndex from "../migrations/0057_unneeded_file_due_index.sql" with { type: "text" };
import connectionHistories from "../migrations/0058_connection_histories.sql" with { type: "text" };
import journal from "../migrations/meta/_journal.json";
import { applyMigrations, type Migration } from "./apply-migrations.ts";
import type { Db } from "./connection/pool.ts";
import type { ConnectionOptions } from "./connection/server/connection.ts";
import { driver } from "./connection/server/driver.ts";
import { findPrimary } from "./connection/server/primary.ts";
import { CREATE_FUNCTIONS, FUNCTIONS_SCHEMA, SCHEMA_NAMES } from "./functions/schema.ts";

/** One text for each entry of the journal, in its order. */
const TEXTS = [
  initial,
  auditAppendOnly,
  lifeOfKeysAndAvatars,
  idempotency,
  cheaperChecks,
  rotation,
  listIndexes,
  firstTenant,
  endedKeys,
  credits,
  assets,
  avatarSources,
  dropUnusedIndex,
  preparations,
  preparationJobs,
  people,
  userIdentities,
  oneInvitation,
  sessionLimits,
  normalAddresses,
  claimsOfDeadWorkers,
  columnNames,
  calls,
  webhooks,
  nameIndexes,
  auditActorIndex,
  ownRooms,
  sweepAt,
  sweepIndexes,
  dropDeliveryChecks,
  deliveryChecks,
  validDeliveryChecks,
  indexesBesideKeys,
  webhookRecoveries,
  webhookRecoveryIndexes,
  callSeconds,
  videos,
  videoIndexes,
  validVideoChecks,
  avatarPreloads,
  callRooms,
  callRoomIndex,
  entriesOfOperator,
  callTurns,
  workerCatalogs,
  callTranscripts,
  conversationUsage,
  keptTranscripts,
  keptTranscriptIndexes,
  recovery,
  callHistoryIndex,
  maxCallSeconds,
  maxCallSecondsCheck,
  validMaxCallSecondsCheck,
  recordings,
  settingsVersion,
  unneededFileRetries,
  unneededFileDueIndex,
  connectionHistories,
];

/** The key of the advisory lock: any number, the same in every replica. */
const LOCK = 7_229_001;

/** The migrations of this program, in their order. */
export const migrations = (): Migration[] =>
  journal.entries.map(({ when, tag }, index) => {
    const text = TEXTS[index];
    if (text === undefined) throw new Error(`Migration ${tag} is not part of the program.`);
    return { tag, when, text };
  });

/** How long a process waits between two attempts to get the lock. */
const LOCK_PAUSE_MS = 50;
/** After this many attempts without the lock, `notify` is called. Most migrations take less than that. */
const NOTIFY_AFTER = 20;

/** `notify` is called once when another process has held the lock for a second. */
export type LockOptions = Pick<ConnectionOptions, "allowWeakAuth"> & {
  notify?: ((message: string) => void) | undefined;
};

/** Runs `work` on a separate connection, while no other process migrates the database or moves a shard. */
export const withLock = async <Result>(
  url: string,
  { allowWeakAuth, notify }: LockOptions,
  work: (client: postgres.Sql) => Promise<Result>,
): Promise<Result> => {
  const client = driver(url, await findPrimary(url, { allowWeakAuth }), { weak_auth: allowWeakAuth === true });
  try {
    // The lock belongs to the session and ends with the connection. The lock is polled, because a waiting statement
    // would be a transaction, for which `create index concurrently` would wait.
    for (let attempts = 1; ; attempts++) {
      const [row] = await client<{ isLocked: boolean }[]>`select pg_try_advisory_lock(${LOCK}) as "isLocked"`;
      if (row?.isLocked) break;
      if (attempts === NOTIFY_AFTER)
        notify?.("Another process migrates this database or moves a shard. Waiting for its end.");
      await Bun.sleep(LOCK_PAUSE_MS);
    }
    return await work(client);
  } finally {
    await client.end({ timeout: 5 });
  }
};

/**
 * Applies the pending migrations and creates the functions of this program. Returns whether anything was missing. Needs
 * a direct connection to the server, not one through a transaction-mode pooler.
 */
export const migrate = (url: string, options: LockOptions = {}): Promise<boolean> =>
  withLock(url, options, async (client) => {
    const query: Query = (text) => client.unsafe(text);
    if ((await query("select 1 where to_regclass('public.shards') is not null")).length > 0) {
      throw new Error("The tables of this database are in shards, which this program does not use.");
    }
    const hasFunctions = async () =>
      (await query(`select 1 where to_regnamespace('${FUNCTIONS_SCHEMA}') is not null`)).length > 0;
    if (!(await hasTables(query))) {
      await applyMigrations(client, migrations());
    } else if (await hasFunctions()) {
      return false;
    }
    if (!(await hasFunctions())) await client.begin((transaction) => transaction.unsafe(CREATE_FUNCTIONS));
    return true;
  });

/**
 * Drops the functions of other versions, and returns the names of their schemas. Replicas of such a version stop
 * working, so prune only after they have ended.
 */
export const pruneFunctions = (url: string, options: LockOptions = {}): Promise<string[]> =>
  withLock(url, options, async (client) => {
    const rows = await client<{ name: string }[]>`
      select nspname as name from pg_namespace
      where nspname ~ ${SCHEMA_NAMES} and nspname <> ${FUNCTIONS_SCHEMA} order by nspname`;
    for (const { name } of rows) await client`drop schema ${client(name)} cascade`;
    return rows.map(({ name }) => name);
  });

type Query = (text: string) => PromiseLike<readonly object[]>;

const hasTables = async (query: Query): Promise<boolean> => {
  const [table] = await query("select 1 where to_regclass('drizzle.__drizzle_migrations') is not null");
  if (!table) return false;
  const [row] = await query("select max(created_at) as newest from drizzle.__drizzle_migrations");
  const { newest } = row as { newest: string | null };
  return Number(newest ?? 0) >= (journal.entries.at(-1)?.when ?? 0);
};

/** Whether the role may use the functions. The same transaction grants the other rights: see `grant.ts`. */
const mayUseFunctions = async (query: Query): Promise<boolean> =>
  (await query(`select 1 where has_schema_privilege(to_regnamespace('${FUNCTIONS_SCHEMA}')::oid, 'usage')`)).length > 0;

/**
 * Whether the database has every migration of this program and its functions, and the role of the connection may use
 * them. A newer database counts as migrated.
 */
export const isMigrated = async (db: Db): Promise<boolean> => {
  const query: Query = (text) => db.run(text, []);
  return (await mayUseFunctions(query)) && (await hasTables(query));
};
