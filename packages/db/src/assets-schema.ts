/**
 * The tables of assets and of the jobs that process them. Files are in a store, not here (`packages/storage`); a row says
 * which files are kept.
 */

import { ASSET_KINDS } from "@realtime-avatar/domain/assets/limits";
import { Asset, CreateRemoteAsset } from "@realtime-avatar/domain/assets/schemas";
import { ASSET_STATUSES } from "@realtime-avatar/domain/assets/status";
import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import { JOB_KINDS } from "@realtime-avatar/domain/job";
import { sql } from "drizzle-orm";
import { bigint, check, index, integer, json, pgTable, primaryKey, text, uniqueIndex } from "drizzle-orm/pg-core";
import { bytewise, isId, isToken, jsonObject, length, oneOf, time } from "./columns.ts";
import { tenants } from "./schema.ts";

const { contentType, sha256, error, originalFilename, metadata } = Asset.properties;
const errorBounds = error.anyOf[0].properties;
const tenantId = () =>
  bytewise("tenant_id")
    .notNull()
    .references(() => tenants.tenantId);
const byteCount = (name: string) => bigint(name, { mode: "number" });

/** The files that avatars are built from. */
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
    /** Media type of the public file; null while there is none. */
    publicType: text("public_type"),
    /** Where the file is fetched from; null for an upload. */
    remoteUrl: text("remote_url"),
    /** What the asset counts for in the quota of bytes. */
    reservedBytes: byteCount("reserved_bytes").notNull(),
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
    // The lists, as those of avatars.
    index("assets_newest_index")
      .on(table.environment, table.tenantId, table.id)
      .where(sql`${table.status} <> 'deleted'`),
    index("assets_list_index").on(table.environment, table.tenantId, table.status, table.kind, table.id),
    // A public file is found by its token alone. Not unique: 256 random bits do not collide.
    index("assets_public_token_index")
      .on(table.publicToken)
      .where(sql`${table.status} = 'ready' and ${table.publicType} is not null`),
    // The sweep of uploads whose file never arrives.
    index("assets_pending_upload_index")
      .on(table.createdAt)
      .where(sql`${table.status} = 'pending_upload' and ${table.remoteUrl} is null`),
    check("assets_id_check", isId(table.id, "ast")),
    check("assets_environment_check", oneOf(table.environment, ENVIRONMENTS)),
    check("assets_kind_check", oneOf(table.kind, ASSET_KINDS)),
    check("assets_status_check", oneOf(table.status, ASSET_STATUSES)),
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
 * What counts for the quota of a tenant in one environment: its assets that are neither failed nor deleted. Its rows are
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
    check("asset_meters_environment_check", oneOf(table.environment, ENVIRONMENTS)),
    check("asset_meters_counters_check", sql`${table.assets} >= 0 and ${table.bytes} >= 0`),
  ],
);

/** Work of the worker that is waiting or running. A job that has ended has no row. */
export const jobs = pgTable(
  "jobs",
  {
    tenantId: tenantId(),
    id: bytewise("id").notNull(),
    environment: text("environment").notNull(),
    kind: text("kind").notNull(),
    targetId: bytewise("target_id").notNull(),
    generation: integer("generation").notNull(),
    /** From when it may be claimed, while `leased_until` is null. */
    runAt: time("run_at").notNull(),
    /** Until when the worker that claimed it holds it; then it may be claimed again. */
    leasedUntil: time("leased_until"),
    /** Identifies the claim. A worker whose lease is another one has lost the job. */
    lease: text("lease"),
    /** How often it was claimed, without the claims that do not count (claim_job, give_back_job). */
    attempts: integer("attempts").notNull().default(0),
    /**
     * How often its lease ran out since its last attempt that came to an end: its worker died, or was cut off from the
     * database. Above 0, it runs alone in its worker.
     */
    lostLeases: integer("lost_leases").notNull().default(0),
    lastError: text("last_error"),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // The jobs of a target, each once.
    uniqueIndex("jobs_target_index").on(table.tenantId, table.targetId, table.kind, table.generation),
    // The next job of each tenant, and of all: by when it may be claimed.
    index("jobs_tenant_available_index").on(table.tenantId, sql`coalesce(leased_until, run_at)`),
    index("jobs_available_index").on(sql`coalesce(leased_until, run_at)`),
    check("jobs_id_check", isId(table.id, "job")),
    check("jobs_environment_check", oneOf(table.environment, ENVIRONMENTS)),
    check("jobs_kind_check", oneOf(table.kind, JOB_KINDS)),
    check("jobs_generation_check", sql`${table.generation} >= 1`),
    check("jobs_lease_check", sql`(${table.lease} is null) = (${table.leasedUntil} is null)`),
    check("jobs_attempts_check", sql`${table.attempts} >= 0`),
    check("jobs_last_error_check", sql`char_length(${table.lastError}) <= 500`),
  ],
);

/**
 * The jobs of a tenant that run at once: a claim locks one of its slots. To count the running jobs instead would not be
 * airtight: two claims at the same time count the same number. Its rows are never deleted.
 */
export const jobSlots = pgTable(
  "job_slots",
  {
    tenantId: tenantId(),
    /** From 1. A tenant may use as many as the service is configured for. */
    slot: integer("slot").notNull(),
    /** The job that ran in it last, and its claim. */
    jobId: bytewise("job_id"),
    lease: text("lease"),
    /** The slot is taken until then; null: it is free. */
    leasedUntil: time("leased_until"),
    /** When it was taken last. */
    startedAt: time("started_at"),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.slot] }),
    // The tenant that was served last.
    index("job_slots_started_at_index").on(table.startedAt),
    check("job_slots_slot_check", sql`${table.slot} >= 1`),
  ],
);
