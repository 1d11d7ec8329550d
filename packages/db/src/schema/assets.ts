/** The tables of assets. The files are in a store (`packages/storage`). The rows determine which files are needed. */

import { ASSET_KINDS, ASSET_ORIGINS } from "@realtime-avatar/domain/assets/limits";
import { Asset, CreateRemoteAsset } from "@realtime-avatar/domain/assets/schemas";
import { ASSET_STATUSES } from "@realtime-avatar/domain/assets/status";
import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import { sql } from "drizzle-orm";
import { bigint, check, index, integer, json, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { bytewise, inList, isId, isToken, jsonObject, length, time } from "./columns.ts";
import { tenants } from "./tenants.ts";

const { contentType, sha256, error, originalFilename, metadata } = Asset.properties;
const errorBounds = error.anyOf[0].properties;
const tenantId = () =>
  bytewise("tenant_id")
    .notNull()
    .references(() => tenants.tenantId);
const byteCount = (name: string) => bigint(name, { mode: "number" });

/** The files from which avatars are built. */
export const assets = pgTable(
  "assets",
  {
    tenantId: tenantId(),
    id: bytewise("id").notNull(),
    environment: text("environment").notNull(),
    kind: text("kind").notNull(),
    status: text("status").notNull(),
    contentType: text("content_type"),
    sizeBytes: byteCount("size_bytes"),
    /** In hexadecimal. */
    sha256: text("sha256"),
    /** The part of the public URL that cannot be guessed. */
    publicToken: bytewise("public_token").notNull(),
    /** Media type of the public file; null without a public file. */
    publicType: text("public_type"),
    /** The URL from which the file is fetched; null for an upload. */
    remoteUrl: text("remote_url"),
    /** The bytes of the quota that the asset uses. */
    reservedBytes: byteCount("reserved_bytes").notNull(),
    /** Null: an earlier release wrote the row. Then `remote_url` says whether the file was uploaded or imported. */
    origin: text("origin"),
    /** The length of the sound or of a generated video; null when it is unknown. */
    durationMs: integer("duration_ms"),
    errorCode: text("error_code"),
    errorDetail: text("error_detail"),
    originalFilename: text("original_filename"),
    /** `json`, not `jsonb`: it keeps numbers as they were written. */
    metadata: json("metadata").notNull(),
    version: integer("version").notNull(),
    createdAt: time("created_at").notNull(),
    updatedAt: time("updated_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // The lists, like those of avatars.
    index("assets_newest_index")
      .on(table.environment, table.tenantId, table.id)
      .where(sql`${table.status} <> 'deleted'`),
    index("assets_list_index").on(table.environment, table.tenantId, table.status, table.kind, table.id),
    // A public file is found by its token. Not unique, because 256 random bits do not collide.
    index("assets_public_token_index")
      .on(table.publicToken)
      .where(sql`${table.status} = 'ready' and ${table.publicType} is not null`),
    // The sweep of uploads without a file.
    index("assets_pending_upload_index")
      .on(table.createdAt)
      .where(sql`${table.status} = 'pending_upload' and ${table.remoteUrl} is null`),
    // The sweep of generated files that are too old.
    index("assets_generated_index")
      .on(table.createdAt)
      .where(sql`${table.status} = 'ready' and ${table.origin} = 'generated'`),
    check("assets_id_check", isId(table.id, "ast")),
    check("assets_environment_check", inList(table.environment, ENVIRONMENTS)),
    check("assets_kind_check", inList(table.kind, ASSET_KINDS)),
    check("assets_status_check", inList(table.status, ASSET_STATUSES)),
    check("assets_content_type_check", length(table.contentType, contentType.anyOf[0])),
    check("assets_size_bytes_check", sql`${table.sizeBytes} between 0 and 9007199254740991`),
    check(
      "assets_sha256_check",
      sql`octet_length(${table.sha256}) = ${sql.raw(`${sha256.anyOf[0].maxLength}`)} and ${table.sha256} ~ '^[0-9a-f]*$'`,
    ),
    check("assets_public_token_check", isToken(table.publicToken)),
    check("assets_public_type_check", length(table.publicType, contentType.anyOf[0])),
    check("assets_remote_url_check", length(table.remoteUrl, CreateRemoteAsset.properties.remoteUrl)),
    check("assets_reserved_bytes_check", sql`${table.reservedBytes} between 0 and 9007199254740991`),
    check("assets_origin_check", inList(table.origin, ASSET_ORIGINS)),
    check("assets_duration_ms_check", sql`${table.durationMs} >= 0`),
    check("assets_error_code_check", length(table.errorCode, errorBounds.code)),
    check("assets_error_detail_check", length(table.errorDetail, errorBounds.detail)),
    check(
      "assets_failed_check",
      sql`(${table.status} = 'failed') = (${table.errorCode} is not null) and (${table.errorCode} is null) = (${table.errorDetail} is null)`,
    ),
    check(
      "assets_ready_check",
      sql`${table.status} <> 'ready' or (${table.contentType} is not null and ${table.sizeBytes} is not null and ${table.sha256} is not null)`,
    ),
    check("assets_original_filename_check", length(table.originalFilename, originalFilename.anyOf[0])),
    check("assets_metadata_check", jsonObject(table.metadata, metadata)),
    check("assets_version_check", sql`${table.version} >= 1`),
  ],
);

/**
 * The quota counters of a tenant in one environment, for its assets that are neither failed nor deleted. The rows are
 * updated in place (fillfactor 50).
 */
export const assetMeters = pgTable(
  "asset_meters",
  {
    tenantId: tenantId(),
    environment: text("environment").notNull(),
    /** How many. */
    assets: byteCount("assets").notNull(),
    /** The sum of their `reserved_bytes`. */
    bytes: byteCount("bytes").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.environment] }),
    check("asset_meters_environment_check", inList(table.environment, ENVIRONMENTS)),
    check("asset_meters_counters_check", sql`${table.assets} >= 0 and ${table.bytes} >= 0`),
  ],
);
