/**
 * The tables. Every primary key, unique index and foreign key begins with `tenant_id`, so that the rows of a tenant are
 * together. That is for one server: the statements cannot be sharded yet (docs/architecture.md, "One primary").
 * `api_key_credentials` alone is found by its `key_id`, and points nowhere by foreign key. No sequence: ids are made by
 * the application. The bounds are those of the domain's schemas, read from there.
 */

import { MAX_LINEAGE } from "@realtime-avatar/domain/api-keys/grant";
import { CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import { SCOPES } from "@realtime-avatar/domain/api-keys/scope";
import { type Check, MAX_CHECKS } from "@realtime-avatar/domain/avatars/checks";
import { Avatar, CreateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import { SOURCE_KINDS } from "@realtime-avatar/domain/avatars/source-kind";
import { AVATAR_STATUSES } from "@realtime-avatar/domain/avatars/status";
import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import { CreateTenant } from "@realtime-avatar/domain/tenant";
import { sql } from "drizzle-orm";
import { bigint, boolean, check, index, integer, json, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import {
  bytes,
  bytewise,
  isId,
  isKeyId,
  isToken,
  jsonArray,
  jsonObject,
  length,
  literals,
  oneOf,
  time,
} from "./columns.ts";

const apiKeyBounds = CreateApiKey.properties;
const avatarBounds = CreateAvatar.properties;
const [spendLimitBounds] = apiKeyBounds.spendLimitCreditMicros.anyOf;
const [sessionLimitBounds] = apiKeyBounds.maxConcurrentSessions.anyOf;

export const tenants = pgTable(
  "tenants",
  {
    tenantId: bytewise("tenant_id").primaryKey(),
    name: text("name").notNull(),
    /** True for the tenant of a first run. A constraint of its own allows it once, however many processes start. */
    isFirst: boolean("is_first"),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    check("tenants_tenant_id_check", isId(table.tenantId, "ten")),
    check("tenants_name_check", length(table.name, CreateTenant.properties.name)),
  ],
);

/** The record of a key: what it may do, for as long as it lives. Its secrets are in `api_key_credentials`. */
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
    /** When the key was found to be revoked or expired, by itself or by an ancestor: it no longer counts for the quota. */
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
    // Whether a tenant has any key that is revoked, or has expired.
    index("api_keys_revoked_index").on(table.tenantId).where(sql`${table.revokedAt} is not null`),
    // The quota of active keys.
    index("api_keys_active_index").on(table.tenantId, table.id).where(sql`${table.endedAt} is null`),
    index("api_keys_expires_at_index").on(table.tenantId, table.expiresAt).where(sql`${table.expiresAt} is not null`),
    check("api_keys_id_check", isId(table.id, "key")),
    check("api_keys_key_id_check", isKeyId(table.keyId)),
    check("api_keys_environment_check", oneOf(table.environment, ENVIRONMENTS)),
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

/** The secrets of a key, as digests. A rotation adds one and gives the old one a time to retire. */
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
    /** Issued by a rotation, and not authenticated since: the holder may never have received it. */
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
 * Changes that wait for writes under way. Look-ups of such a key, or of a descendant, are delayed, and those of such a user or
 * session.
 */
export const apiKeyPendingChanges = pgTable(
  "api_key_pending_changes",
  {
    tenantId: bytewise("tenant_id").notNull(),
    /** Of a key, a user or a session; that of the tenant for all of its people. */
    apiKeyId: bytewise("api_key_id").notNull(),
    announcedAt: time("announced_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.apiKeyId] })],
);

/** When a key was last used. A table of its own: the record is locked by every write of the key. */
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

/** Requests with an `Idempotency-Key`, each with its response for a replay, written in the statement of its effect. */
export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    tenantId: bytewise("tenant_id").notNull(),
    /** The key that called, with any of its credentials, or the user. */
    apiKeyId: bytewise("api_key_id").notNull(),
    /** Method and path, as they were sent. */
    request: bytewise("request").notNull(),
    idempotencyKey: bytewise("idempotency_key").notNull(),
    /** Id of the audit event of the attempt that stored the response: by it an attempt recognises its own claim. */
    auditEventId: bytewise("audit_event_id").notNull(),
    /** SHA-256 of the body as a JSON value. */
    bodyHash: bytes("body_hash").notNull(),
    status: integer("status").notNull(),
    location: text("location"),
    etag: text("etag").notNull(),
    answer: bytes("answer").notNull(),
    /** The credential with whose secret the response is sealed; null when it contains no secret and is not sealed. */
    sealedFor: bytewise("sealed_for"),
    /** The fields of the response that only the write knew, such as the amount that was granted; null when there are none. */
    figures: json("figures"),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.apiKeyId, table.request, table.idempotencyKey] }),
    // The sweep of those that have had their day.
    index("idempotency_keys_created_at_index").on(table.createdAt),
    check("idempotency_keys_body_hash_check", sql`octet_length(${table.bodyHash}) = 32`),
    check("idempotency_keys_status_check", sql`${table.status} between 200 and 299`),
    check("idempotency_keys_idempotency_key_check", sql`char_length(${table.idempotencyKey}) between 1 and 255`),
  ],
);

export const avatars = pgTable(
  "avatars",
  {
    tenantId: bytewise("tenant_id")
      .notNull()
      .references(() => tenants.tenantId),
    id: bytewise("id").notNull(),
    environment: text("environment").notNull(),
    displayName: text("display_name").notNull(),
    sourceKind: text("source_kind").notNull(),
    modelId: text("model_id").notNull(),
    status: text("status").notNull(),
    sourceAssetId: text("source_asset_id"),
    pendingSourceAssetId: text("pending_source_asset_id"),
    defaultVoiceId: text("default_voice_id"),
    /** Which preparation is the latest, from 1. A job of another one changes nothing. */
    generation: integer("generation").notNull().default(0),
    error: text("error"),
    /** `json`: it keeps numbers as they were written. */
    checks: json("checks").$type<Check[]>().notNull().default([]),
    previewToken: bytewise("preview_token"),
    /** Where the preview is kept, below the folder of the avatar. */
    previewFile: text("preview_file"),
    cacheManifestId: text("cache_manifest_id"),
    cacheVersion: bigint("cache_version", { mode: "number" }).notNull(),
    /** `json`, not `jsonb`: it keeps numbers as they were written. */
    settings: json("settings").notNull(),
    metadata: json("metadata").notNull(),
    version: integer("version").notNull(),
    createdAt: time("created_at").notNull(),
    updatedAt: time("updated_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // The list without filters: see `newestOf`, and why it does not begin as the primary key does.
    index("avatars_newest_index")
      .on(table.environment, table.tenantId, table.id)
      .where(sql`${table.status} <> 'deleted'`),
    // Lists with filters.
    index("avatars_list_index").on(table.environment, table.tenantId, table.status, table.sourceKind, table.id),
    // Whether an avatar that is not deleted refers to an asset.
    index("avatars_source_asset_index")
      .on(table.tenantId, table.sourceAssetId)
      .where(sql`${table.sourceAssetId} is not null and ${table.status} <> 'deleted'`),
    // Whether one prepares it, to take the place of its source.
    index("avatars_pending_source_asset_index")
      .on(table.tenantId, table.pendingSourceAssetId)
      .where(sql`${table.pendingSourceAssetId} is not null and ${table.status} <> 'deleted'`),
    // A preview is found by its token alone. Not unique: 256 random bits do not collide.
    index("avatars_preview_token_index")
      .on(table.previewToken)
      .where(sql`${table.previewToken} is not null and ${table.status} <> 'deleted'`),
    check("avatars_id_check", isId(table.id, "ava")),
    check("avatars_environment_check", oneOf(table.environment, ENVIRONMENTS)),
    check("avatars_display_name_check", length(table.displayName, avatarBounds.displayName)),
    check("avatars_source_kind_check", oneOf(table.sourceKind, SOURCE_KINDS)),
    check("avatars_model_id_check", length(table.modelId, avatarBounds.modelId)),
    check("avatars_status_check", oneOf(table.status, AVATAR_STATUSES)),
    check("avatars_source_asset_id_check", length(table.sourceAssetId, avatarBounds.sourceAssetId)),
    check("avatars_pending_source_asset_id_check", length(table.pendingSourceAssetId, avatarBounds.sourceAssetId)),
    check("avatars_generation_check", sql`${table.generation} >= 0`),
    check("avatars_error_check", length(table.error, Avatar.properties.error.anyOf[0])),
    check("avatars_checks_check", jsonArray(table.checks, { maxItems: MAX_CHECKS })),
    check("avatars_preview_token_check", isToken(table.previewToken)),
    check(
      "avatars_preview_file_check",
      sql`(${table.previewFile} is null) = (${table.previewToken} is null) and ${table.previewFile} ~ '^[0-9]+/[0-9a-f]*-webp$'`,
    ),
    check("avatars_default_voice_id_check", length(table.defaultVoiceId, avatarBounds.defaultVoiceId)),
    check("avatars_cache_manifest_id_check", length(table.cacheManifestId, Avatar.properties.cacheManifestId.anyOf[0])),
    check("avatars_cache_version_check", sql`${table.cacheVersion} >= 0`),
    check("avatars_settings_check", jsonObject(table.settings, avatarBounds.settings)),
    check("avatars_metadata_check", jsonObject(table.metadata, avatarBounds.metadata)),
    check("avatars_version_check", sql`${table.version} >= 1`),
  ],
);

/** Who did what, when, by which request. A trigger refuses UPDATE, DELETE and TRUNCATE. */
export const auditEvents = pgTable(
  "audit_events",
  {
    tenantId: bytewise("tenant_id")
      .notNull()
      .references(() => tenants.tenantId),
    id: bytewise("id").notNull(),
    environment: text("environment").notNull(),
    /** The key or the user that acted; null: neither. And the credential of the key. */
    actorId: bytewise("actor_id"),
    actorKeyId: bytewise("actor_key_id"),
    action: text("action").notNull(),
    targetId: bytewise("target_id").notNull(),
    /** Names of the fields that an update changed; never their values. */
    changedFields: text("changed_fields").array().notNull().default([]),
    requestId: text("request_id").notNull(),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // What was done to this? What has this credential done?
    index("audit_events_target_id_index").on(table.targetId, table.tenantId, table.id),
    index("audit_events_actor_key_id_index").on(table.actorKeyId, table.tenantId, table.id),
    // The list of one action. The most frequent one is left out, so that creating avatars does not pay for it.
    index("audit_events_action_index")
      .on(table.action, table.tenantId, table.id)
      .where(sql`${table.action} <> 'avatar.created'`),
    // What a test key sees, of a tenant that mostly works in live.
    index("audit_events_test_index")
      .on(table.environment, table.tenantId, table.id)
      .where(sql`${table.environment} <> 'live'`),
    check("audit_events_id_check", isId(table.id, "aud")),
    check("audit_events_environment_check", oneOf(table.environment, ENVIRONMENTS)),
    // A person has no credential that the trail names.
    check(
      "audit_events_actor_type_check",
      sql`(${table.actorKeyId} is not null) = (${table.actorId} is not null and ${table.actorId} not like 'usr\\_%')`,
    ),
  ],
);
