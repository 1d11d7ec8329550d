/** The table of avatars. */

import { type Check, MAX_CHECKS } from "@realtime-avatar/domain/avatars/checks";
import { Avatar, CreateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import { SOURCE_KINDS } from "@realtime-avatar/domain/avatars/source-kind";
import { AVATAR_STATUSES } from "@realtime-avatar/domain/avatars/status";
import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import { sql } from "drizzle-orm";
import { bigint, check, index, integer, json, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { bytewise, inList, isId, isToken, jsonArray, jsonObject, length, nameIndexes, time } from "./columns.ts";
import { tenants } from "./tenants.ts";

const avatarBounds = CreateAvatar.properties;

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
    /** The number of the latest preparation, from 1. The job of an earlier one changes nothing. */
    generation: integer("generation").notNull().default(0),
    error: text("error"),
    /** `json`: it keeps numbers as they were written. */
    checks: json("checks").$type<Check[]>().notNull().default([]),
    previewToken: bytewise("preview_token"),
    /** The path of the preview, below the folder of the avatar. */
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
    // The list without filters. `newestRows` explains why it does not begin like the primary key.
    index("avatars_newest_index")
      .on(table.environment, table.tenantId, table.id)
      .where(sql`${table.status} <> 'deleted'`),
    // Lists with filters.
    index("avatars_list_index").on(table.environment, table.tenantId, table.status, table.sourceKind, table.id),
    ...nameIndexes("avatars", table.tenantId, table.id, table.displayName),
    // Whether an avatar that is not deleted refers to an asset.
    index("avatars_source_asset_index")
      .on(table.tenantId, table.sourceAssetId)
      .where(sql`${table.sourceAssetId} is not null and ${table.status} <> 'deleted'`),
    // Whether an avatar prepares an asset, in place of its source.
    index("avatars_pending_source_asset_index")
      .on(table.tenantId, table.pendingSourceAssetId)
      .where(sql`${table.pendingSourceAssetId} is not null and ${table.status} <> 'deleted'`),
    // A preview is found by its token. Not unique, because 256 random bits do not collide.
    index("avatars_preview_token_index")
      .on(table.previewToken)
      .where(sql`${table.previewToken} is not null and ${table.status} <> 'deleted'`),
    check("avatars_id_check", isId(table.id, "ava")),
    check("avatars_environment_check", inList(table.environment, ENVIRONMENTS)),
    check("avatars_display_name_check", length(table.displayName, avatarBounds.displayName)),
    check("avatars_source_kind_check", inList(table.sourceKind, SOURCE_KINDS)),
    check("avatars_model_id_check", length(table.modelId, avatarBounds.modelId)),
    check("avatars_status_check", inList(table.status, AVATAR_STATUSES)),
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
