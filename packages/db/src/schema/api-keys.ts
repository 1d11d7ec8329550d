/**
 * The tables of API keys. The primary key of `api_key_credentials` does not begin with `tenant_id`, because a
 * credential is found by its `key_id`. It has no foreign key.
 */

import { MAX_LINEAGE } from "@realtime-avatar/domain/api-keys/grant";
import { CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import { SCOPES } from "@realtime-avatar/domain/api-keys/scope";
import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import { sql } from "drizzle-orm";
import { bigint, boolean, check, index, integer, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { bytes, bytewise, inList, isId, isKeyId, length, literals, nameIndexes, time } from "./columns.ts";
import { tenants } from "./tenants.ts";

const apiKeyBounds = CreateApiKey.properties;
const [spendLimitBounds] = apiKeyBounds.spendLimitCreditMicros.anyOf;
const [sessionLimitBounds] = apiKeyBounds.maxConcurrentSessions.anyOf;

/** The record of a key: its rights and limits. Its secrets are in `api_key_credentials`. */
export const apiKeys = pgTable(
  "api_keys",
  {
    tenantId: bytewise("tenant_id")
      .notNull()
      .references(() => tenants.tenantId),
    id: bytewise("id").notNull(),
    /** The handle of the newest credential. */
    keyId: bytewise("key_id").notNull(),
    environment: text("environment").notNull(),
    name: text("name").notNull(),
    scopes: text("scopes").array().notNull(),
    spendLimitCreditMicros: bigint("spend_limit_credit_micros", { mode: "number" }),
    maxConcurrentSessions: bigint("max_concurrent_sessions", { mode: "number" }),
    expiresAt: time("expires_at"),
    revokedAt: time("revoked_at"),
    /**
     * When the key, or an ancestor, was found to be revoked or expired. From then on the key does not count for the
     * quota.
     */
    endedAt: time("ended_at"),
    /** Ids of its ancestors, eldest first; never changed. */
    lineage: text("lineage").array().notNull(),
    version: integer("version").notNull(),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // The list of one environment.
    index("api_keys_environment_index").on(table.environment, table.tenantId, table.id),
    ...nameIndexes("api_keys", table.tenantId, table.id, table.name),
    // Whether a tenant has any key that is revoked, or has expired.
    index("api_keys_revoked_index").on(table.tenantId).where(sql`${table.revokedAt} is not null`),
    // The quota of active keys.
    index("api_keys_active_index").on(table.tenantId, table.id).where(sql`${table.endedAt} is null`),
    index("api_keys_expires_at_index").on(table.tenantId, table.expiresAt).where(sql`${table.expiresAt} is not null`),
    check("api_keys_id_check", isId(table.id, "key")),
    check("api_keys_key_id_check", isKeyId(table.keyId)),
    check("api_keys_environment_check", inList(table.environment, ENVIRONMENTS)),
    check("api_keys_name_check", length(table.name, apiKeyBounds.name)),
    check(
      "api_keys_scopes_check",
      sql`cardinality(${table.scopes}) between ${sql.raw(`${apiKeyBounds.scopes.minItems} and ${apiKeyBounds.scopes.maxItems}`)} and ${table.scopes} <@ array[${literals(SCOPES)}] and array_position(${table.scopes}, null) is null`,
    ),
    check(
      "api_keys_spend_limit_credit_micros_check",
      sql`${table.spendLimitCreditMicros} between ${sql.raw(`${spendLimitBounds.minimum} and ${spendLimitBounds.maximum}`)}`,
    ),
    check(
      "api_keys_max_concurrent_sessions_check",
      sql`${table.maxConcurrentSessions} between ${sql.raw(`${sessionLimitBounds.minimum} and ${sessionLimitBounds.maximum}`)}`,
    ),
    check(
      "api_keys_lineage_check",
      sql`cardinality(${table.lineage}) <= ${sql.raw(`${MAX_LINEAGE}`)} and array_position(${table.lineage}, null) is null and not ${table.id} = any(${table.lineage} collate "C")`,
    ),
    check("api_keys_version_check", sql`${table.version} >= 1`),
  ],
);

/** The secrets of a key, as digests. A rotation adds a credential, and sets a time at which the old one retires. */
export const apiKeyCredentials = pgTable(
  "api_key_credentials",
  {
    keyId: bytewise("key_id").primaryKey(),
    tenantId: bytewise("tenant_id").notNull(),
    apiKeyId: bytewise("api_key_id").notNull(),
    /** SHA-256 of the full secret. */
    digest: bytes("digest").notNull(),
    /** The credential is refused from this moment on. */
    retiredAt: time("retired_at"),
    /** Id of the key or user whose rotation set `retired_at`; null when it is not set, or when the operator rotated the key. */
    retiredBy: bytewise("retired_by"),
    /** Issued by a rotation and never authenticated: the holder may not have received it. */
    isUnused: boolean("is_unused").notNull().default(false),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    // A rotation retires the credentials of its key.
    index("api_key_credentials_api_key_id_index").on(table.tenantId, table.apiKeyId),
    // The sweep of retired credentials.
    index("api_key_credentials_retired_at_index").on(table.retiredAt).where(sql`${table.retiredAt} is not null`),
    check("api_key_credentials_key_id_check", isKeyId(table.keyId)),
    check("api_key_credentials_digest_check", sql`octet_length(${table.digest}) = 32`),
  ],
);

/**
 * Changes that wait for writes under way. Look-ups of the key, its descendants, the user or the session are delayed
 * meanwhile. For now a view of the table `api_key_pending_changes`: see `0021_column_names.sql`.
 */
export const pendingChanges = pgTable(
  "pending_changes",
  {
    tenantId: bytewise("tenant_id").notNull(),
    /** The id of a key, a user or a session; the id of the tenant stands for all of its people. */
    subjectId: bytewise("subject_id").notNull(),
    announcedAt: time("announced_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.subjectId] })],
);

/** When a key was last used. A separate table, because every write of the key locks the record. */
export const apiKeyUsage = pgTable(
  "api_key_usage",
  {
    tenantId: bytewise("tenant_id").notNull(),
    apiKeyId: bytewise("api_key_id").notNull(),
    /** To the minute. */
    lastUsedAt: time("last_used_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.apiKeyId] })],
);
