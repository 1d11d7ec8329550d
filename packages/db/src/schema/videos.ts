/** The table of videos. */

import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import { CreateVideo, MAX_WARNINGS, Video } from "@realtime-avatar/domain/videos/schemas";
import { VIDEO_STATUSES } from "@realtime-avatar/domain/videos/status";
import { sql } from "drizzle-orm";
import { bigint, check, index, integer, json, pgTable, primaryKey, real, text } from "drizzle-orm/pg-core";
import { bytewise, inList, isId, jsonObject, length, time } from "./columns.ts";
import { tenants } from "./tenants.ts";

const bounds = CreateVideo.properties;
const errorBounds = Video.properties.error.anyOf[0].properties;

/** Videos: an avatar that says a text or a recording. Its usage session holds the credits, its asset has the file. */
export const videos = pgTable(
  "videos",
  {
    tenantId: bytewise("tenant_id")
      .notNull()
      .references(() => tenants.tenantId),
    id: bytewise("id").notNull(),
    environment: text("environment").notNull(),
    avatarId: bytewise("avatar_id").notNull(),
    /** Null for audio, and for a deleted video, because a person's text is not stored longer. */
    text: text("text"),
    audioAssetId: bytewise("audio_asset_id"),
    /** The voice that says the text. */
    voiceId: text("voice_id"),
    status: text("status").notNull(),
    /** 0 to 1. */
    progress: real("progress").notNull().default(0),
    /** The asset with the file. It may be deleted. */
    assetId: bytewise("asset_id"),
    durationMs: integer("duration_ms"),
    billedSeconds: bigint("billed_seconds", { mode: "number" }),
    billedCreditMicros: bigint("billed_credit_micros", { mode: "number" }),
    reservedCreditMicros: bigint("reserved_credit_micros", { mode: "number" }).notNull(),
    sessionId: bytewise("session_id").notNull(),
    apiKeyId: bytewise("api_key_id").notNull(),
    errorCode: text("error_code"),
    errorDetail: text("error_detail"),
    warnings: text("warnings").array().notNull().default([]),
    /** `json`, not `jsonb`: it keeps numbers as they were written. */
    metadata: json("metadata").notNull(),
    version: integer("version").notNull(),
    createdAt: time("created_at").notNull(),
    updatedAt: time("updated_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // The lists, like those of avatars.
    index("videos_newest_index")
      .on(table.environment, table.tenantId, table.id)
      .where(sql`${table.status} <> 'deleted'`),
    index("videos_list_index").on(table.environment, table.tenantId, table.status, table.id),
    index("videos_avatar_index").on(table.environment, table.tenantId, table.avatarId, table.id),
    // The count of running videos, and the videos that have waited too long.
    index("videos_running_index")
      .on(table.environment, table.tenantId)
      .where(sql`${table.status} in ('queued', 'rendering')`),
    index("videos_waiting_index").on(table.createdAt).where(sql`${table.status} in ('queued', 'rendering')`),
    check("videos_id_check", isId(table.id, "vid")),
    check("videos_environment_check", inList(table.environment, ENVIRONMENTS)),
    check("videos_status_check", inList(table.status, VIDEO_STATUSES)),
    check("videos_text_check", length(table.text, bounds.text)),
    check(
      "videos_sound_check",
      sql`num_nonnulls(${table.text}, ${table.audioAssetId}) = 1 or ${table.status} = 'deleted'`,
    ),
    check("videos_voice_id_check", length(table.voiceId, bounds.voiceId)),
    check("videos_progress_check", sql`${table.progress} between 0 and 1`),
    check(
      "videos_ready_check",
      sql`${table.status} <> 'ready' or num_nulls(${table.assetId}, ${table.durationMs}) = 0`,
    ),
    check("videos_duration_ms_check", sql`${table.durationMs} >= 0`),
    check(
      "videos_billed_check",
      sql`${table.billedCreditMicros} between 0 and ${table.reservedCreditMicros} and (${table.billedSeconds} is null) = (${table.billedCreditMicros} is null) and (${table.status} in ('queued', 'rendering')) = (${table.billedSeconds} is null)`,
    ),
    check("videos_error_code_check", length(table.errorCode, errorBounds.code)),
    check("videos_error_detail_check", length(table.errorDetail, errorBounds.detail)),
    check(
      "videos_failed_check",
      sql`(${table.errorCode} is null) = (${table.errorDetail} is null) and (${table.status} <> 'failed' or ${table.errorCode} is not null)`,
    ),
    check("videos_warnings_check", sql`cardinality(${table.warnings}) <= ${sql.raw(`${MAX_WARNINGS}`)}`),
    check("videos_metadata_check", jsonObject(table.metadata, bounds.metadata)),
    check("videos_version_check", sql`${table.version} >= 1`),
  ],
);
