/** The tables of recordings of calls. The files are in the store: the domain's recordings/files.ts. */
import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import { RECORDED_MODES } from "@realtime-avatar/domain/recordings/modes";
import {
  MEDIA_MODES,
  RECORDING_ERRORS,
  RECORDING_ROLES,
  RECORDING_STATUSES,
} from "@realtime-avatar/domain/recordings/schemas";
import { sql } from "drizzle-orm";
import { bigint, check, index, integer, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { bytewise, inList, isId, time } from "./columns.ts";

const byteCount = (name: string) => bigint(name, { mode: "number" });

/** Calls that are recorded, until their fragments are joined. */
export const callRecordings = pgTable(
  "call_recordings",
  {
    tenantId: bytewise("tenant_id").notNull(),
    sessionId: bytewise("session_id").notNull(),
    mode: text("mode").notNull(),
    createdAt: time("created_at").notNull(),
    /** The sum of the sizes of the fragments. */
    sizeBytes: byteCount("size_bytes").notNull().default(0),
    fragmentCount: integer("fragment_count").notNull().default(0),
    /** The end of the call, and the worker that had it then. Null while the call is open. */
    endedAt: time("ended_at"),
    workerId: bytewise("worker_id"),
    /** The time from which the fragments may be joined. For an open call: the time of the next check of its end. */
    dueAt: time("due_at").notNull(),
    /** The claim of the worker that joins the fragments, and the end of that claim. */
    lease: text("lease"),
    leasedUntil: time("leased_until"),
    /** How often the fragments were claimed. */
    attemptCount: integer("attempt_count").notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.sessionId] }),
    // A worker names a call by its session alone.
    index("call_recordings_session_index").on(table.sessionId, table.tenantId),
    // The next recordings to join, of all tenants and of each tenant.
    index("call_recordings_due_index").on(sql`coalesce(leased_until, due_at)`),
    index("call_recordings_queue_index")
      .on(table.tenantId, sql`coalesce(leased_until, due_at)`)
      .where(sql`${table.attemptCount} >= 0`),
    check("call_recordings_session_id_check", isId(table.sessionId, "ses")),
    check("call_recordings_mode_check", inList(table.mode, RECORDED_MODES)),
    check("call_recordings_lease_check", sql`(${table.lease} is null) = (${table.leasedUntil} is null)`),
  ],
);

/** The stored fragments of these calls. Each worker that has the call (`generation`) counts its fragments from 0. */
export const recordingFragments = pgTable(
  "recording_fragments",
  {
    tenantId: bytewise("tenant_id").notNull(),
    sessionId: bytewise("session_id").notNull(),
    generation: integer("generation").notNull(),
    n: integer("n").notNull(),
    /** The worker that has sent it. It can send more of this generation after the call has moved to another worker. */
    workerId: bytewise("worker_id").notNull(),
    sizeBytes: integer("size_bytes").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.sessionId, table.generation, table.n] }),
    check("recording_fragments_session_id_check", isId(table.sessionId, "ses")),
  ],
);

/** Recordings, each with one file. */
export const recordings = pgTable(
  "recordings",
  {
    tenantId: bytewise("tenant_id").notNull(),
    id: bytewise("id").notNull(),
    environment: text("environment").notNull(),
    sessionId: bytewise("session_id").notNull(),
    mode: text("mode").notNull(),
    /** The recorded side; null: both sides. */
    role: text("role"),
    status: text("status").notNull(),
    /** The key of the file; null while the recording has no file. */
    key: text("key"),
    sizeBytes: byteCount("size_bytes"),
    durationMs: integer("duration_ms"),
    mediaStartedAt: time("media_started_at"),
    mediaEndedAt: time("media_ended_at"),
    errorCode: text("error_code"),
    createdAt: time("created_at").notNull(),
    /** The end of the call. */
    endedAt: time("ended_at"),
    /** When the file is deleted. The end of the call moves it. */
    retainedUntil: time("retained_until").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    index("recordings_newest_index").on(table.environment, table.tenantId, table.id),
    index("recordings_session_index").on(table.sessionId, table.tenantId, table.id),
    // The oldest recordings whose file must be deleted, and the oldest that are shown without a file.
    index("recordings_kept_index").on(table.retainedUntil).where(sql`${table.status} in ('ready', 'failed')`),
    index("recordings_expired_index").on(table.retainedUntil).where(sql`${table.status} = 'expired'`),
    // The sum of the stored bytes.
    index("recordings_size_index").on(table.sizeBytes).where(sql`${table.status} = 'ready'`),
    check("recordings_id_check", isId(table.id, "rec")),
    check("recordings_environment_check", inList(table.environment, ENVIRONMENTS)),
    check("recordings_session_id_check", isId(table.sessionId, "ses")),
    check("recordings_mode_check", inList(table.mode, MEDIA_MODES)),
    check("recordings_role_check", inList(table.role, RECORDING_ROLES)),
    check("recordings_status_check", inList(table.status, RECORDING_STATUSES)),
    check("recordings_error_code_check", inList(table.errorCode, RECORDING_ERRORS)),
    check(
      "recordings_file_check",
      sql`case when ${table.status} = 'ready' then num_nulls(${table.key}, ${table.sizeBytes}, ${table.durationMs}, ${table.mediaStartedAt}, ${table.mediaEndedAt}, ${table.endedAt}) = 0 else num_nonnulls(${table.key}, ${table.sizeBytes}, ${table.durationMs}) = 0 end`,
    ),
    check("recordings_failed_check", sql`(${table.errorCode} is null) = (${table.status} <> 'failed')`),
    check("recordings_size_bytes_check", sql`${table.sizeBytes} >= 1`),
    check("recordings_duration_ms_check", sql`${table.durationMs} >= 0`),
  ],
);

/** Keys of stored files to delete. Their rows were deleted, or no longer name them. */
export const unneededFiles = pgTable(
  "unneeded_files",
  {
    tenantId: bytewise("tenant_id").notNull(),
    key: bytewise("key").notNull(),
    createdAt: time("created_at").notNull(),
    /** The time of the next attempt to delete it. Null before the first attempt. */
    retryAt: time("retry_at"),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.key] }),
    // The oldest file, and the next file to delete.
    index("unneeded_files_age_index").on(table.createdAt),
    index("unneeded_files_due_index").on(sql`coalesce(retry_at, created_at)`),
  ],
);
