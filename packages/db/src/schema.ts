/**
 * The tables. Every primary key, unique index and foreign key begins with `tenant_id`, so that the rows of a tenant are
 * together. That is for one server: the statements cannot be sharded yet (docs/architecture.md, "One primary").
 * `api_key_credentials` alone is found by its `key_id`, and points nowhere by foreign key. No sequence: ids are made by
 * the application. The bounds are those of the domain's schemas, read from there.
 */

import { CreateApiKey, MAX_LINEAGE } from "@realtime-avatar/domain/api-key";
import { ENVIRONMENTS, KEY_ID_LENGTH } from "@realtime-avatar/domain/api-key-secret";
import { Avatar, CreateAvatar, SOURCE_KINDS } from "@realtime-avatar/domain/avatar";
import { ID_CHARACTERS, ID_SUFFIX_LENGTH, type IdPrefix } from "@realtime-avatar/domain/id";
import { SCOPES } from "@realtime-avatar/domain/scope";
import { AVATAR_STATUSES } from "@realtime-avatar/domain/state";
import { CreateTenant } from "@realtime-avatar/domain/tenant";
import { type SQL, sql } from "drizzle-orm";
import {
  type AnyPgColumn,
  bigint,
  boolean,
  check,
  customType,
  index,
  integer,
  json,
  pgTable,
  primaryKey,
  text,
  timestamp,
} from "drizzle-orm/pg-core";

/** Text that is compared bytewise: ids sort by time in every locale, and no locale's upgrade corrupts an index. */
const bytewise = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });
const bytes = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });
const time = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

const literals = (values: readonly string[]): SQL => sql.raw(values.map((value) => `'${value}'`).join(", "));
const oneOf = (column: AnyPgColumn, values: readonly string[]): SQL => sql`${column} in (${literals(values)})`;
/** A regular expression that counts takes PostgreSQL four times as long as one that does not, with the length beside it. */
const isWritten = (column: AnyPgColumn, start: string, characters: string, count: number): SQL =>
  sql`octet_length(${column}) = ${sql.raw(`${count}`)} and ${column} ~ ${sql.raw(`'^${start}${characters}*$'`)}`;
const isId = (column: AnyPgColumn, prefix: IdPrefix): SQL => {
  const [first, rest] = ID_CHARACTERS;
  return isWritten(column, `${prefix}_${first}`, rest, prefix.length + 1 + ID_SUFFIX_LENGTH);
};
const isKeyId = (column: AnyPgColumn): SQL => isWritten(column, "", "[0-9A-Za-z]", KEY_ID_LENGTH);
/** PostgreSQL counts code points, as JSON Schema does. */
const length = (column: AnyPgColumn, schema: { minLength: number; maxLength: number }): SQL =>
  sql`char_length(${column}) between ${sql.raw(`${schema.minLength} and ${schema.maxLength}`)}`;
const jsonObject = (column: AnyPgColumn, schema: { "x-maxBytes": number }): SQL =>
  sql`json_typeof(${column}) = 'object' and octet_length(${column}::text) <= ${sql.raw(`${schema["x-maxBytes"]}`)}`;

const apiKeyBounds = CreateApiKey.properties;
const avatarBounds = CreateAvatar.properties;
const [spendLimitBounds] = apiKeyBounds.spendLimitCreditMicros.anyOf;

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
    expiresAt: time("expires_at"),
    revokedAt: time("revoked_at"),
    /** When the key was found to be revoked or expired, by itself or by an ancestor: it counts for no quota any more. */
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
    /** Id of the key whose rotation set `retired_at`; null when it is not set, or when the operator rotated the key. */
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

/** Changes of keys that wait for writes under way: whoever looks up such a key, or a descendant of it, lets them pass. */
export const apiKeyPendingChanges = pgTable(
  "api_key_pending_changes",
  {
    tenantId: bytewise("tenant_id").notNull(),
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

/**
 * What was answered to a request with an `Idempotency-Key`, for whoever sends it again: in the same statement as what the
 * request has made.
 */
export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    tenantId: bytewise("tenant_id").notNull(),
    /** The record that called, whichever its credential was. */
    apiKeyId: bytewise("api_key_id").notNull(),
    /** Method and path, as they were sent. */
    request: bytewise("request").notNull(),
    idempotencyKey: bytewise("idempotency_key").notNull(),
    /** Id of the audit event of the attempt whose answer this is: by it an attempt knows its own. */
    auditEventId: bytewise("audit_event_id").notNull(),
    /** SHA-256 of the body as a JSON value. */
    bodyHash: bytes("body_hash").notNull(),
    status: integer("status").notNull(),
    location: text("location"),
    etag: text("etag").notNull(),
    answer: bytes("answer").notNull(),
    /** The credential with whose secret the answer is sealed; null when it holds no secret and is not. */
    sealedFor: bytewise("sealed_for"),
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
    defaultVoiceId: text("default_voice_id"),
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
    check("avatars_id_check", isId(table.id, "ava")),
    check("avatars_environment_check", oneOf(table.environment, ENVIRONMENTS)),
    check("avatars_display_name_check", length(table.displayName, avatarBounds.displayName)),
    check("avatars_source_kind_check", oneOf(table.sourceKind, SOURCE_KINDS)),
    check("avatars_model_id_check", length(table.modelId, avatarBounds.modelId)),
    check("avatars_status_check", oneOf(table.status, AVATAR_STATUSES)),
    check("avatars_source_asset_id_check", length(table.sourceAssetId, avatarBounds.sourceAssetId)),
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
    /** Record and credential of the key that acted; null when no key did. */
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
    check("audit_events_actor_check", sql`(${table.actorId} is null) = (${table.actorKeyId} is null)`),
  ],
);
