/**
 * The tables of credits. Amounts are integers in credit micros. Each counter follows from `credit_entries`: replaying the
 * entries of a tenant gives its account and its meters (docs/credits.md).
 */

import { MAX_CALL_SECONDS } from "@realtime-avatar/domain/calls/limits";
import { ENTRY_KINDS } from "@realtime-avatar/domain/credits/entry";
import { MAX_SESSION_SECONDS } from "@realtime-avatar/domain/credits/schemas";
import { DEFAULT_MAX_CONCURRENT_SESSIONS, SessionLimit } from "@realtime-avatar/domain/credits/session-limit";
import { SESSION_STATUSES } from "@realtime-avatar/domain/credits/status";
import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  json,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import { bytewise, inList, isId, time } from "./columns.ts";
import { tenants } from "./tenants.ts";

const micros = (name: string) => bigint(name, { mode: "number" }).notNull();

/**
 * The balance of a tenant in one environment. It has only counters, so its rows are updated in place (fillfactor 50).
 */
export const creditAccounts = pgTable(
  "credit_accounts",
  {
    tenantId: bytewise("tenant_id")
      .notNull()
      .references(() => tenants.tenantId),
    environment: text("environment").notNull(),
    /** The sum of all grants. */
    granted: micros("granted"),
    /** The part of the grants that the operator has voided. */
    forfeited: micros("forfeited").default(0),
    /** The credits that sessions have used. */
    settled: micros("settled").default(0),
    /** The credits that open sessions hold. */
    reserved: micros("reserved").default(0),
    /** How many sessions are open: see `isCounted` of a session. */
    openSessions: bigint("open_sessions", { mode: "number" }).notNull().default(0),
    /** The maximum number of open sessions. */
    maxConcurrentSessions: bigint("max_concurrent_sessions", { mode: "number" })
      .notNull()
      .default(DEFAULT_MAX_CONCURRENT_SESSIONS),
    /**
     * The longest call that the operator allows, in seconds; null: the default of the service. Calls of test keys have
     * a shorter limit.
     */
    maxCallSeconds: integer("max_call_seconds"),
    /** `credits.low` is sent when less than this becomes available; null: never. */
    lowThreshold: bigint("low_threshold", { mode: "number" }),
    /** When `credits.exhausted` was sent last. */
    exhaustedAt: time("exhausted_at"),
    version: integer("version").notNull().default(1),
    updatedAt: time("updated_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.environment] }),
    check("credit_accounts_environment_check", inList(table.environment, ENVIRONMENTS)),
    check(
      "credit_accounts_available_check",
      sql`${table.granted} - ${table.forfeited} - ${table.settled} - ${table.reserved} >= 0`,
    ),
    check(
      "credit_accounts_counters_check",
      sql`${table.granted} between 0 and 9007199254740991 and ${table.forfeited} >= 0 and ${table.settled} >= 0 and ${table.reserved} >= 0`,
    ),
    check("credit_accounts_open_sessions_check", sql`${table.openSessions} >= 0`),
    check(
      "credit_accounts_max_concurrent_sessions_check",
      sql`${table.maxConcurrentSessions} between ${sql.raw(`${SessionLimit.minimum} and ${SessionLimit.maximum}`)}`,
    ),
    check(
      "credit_accounts_max_call_seconds_check",
      sql`${table.maxCallSeconds} between ${sql.raw(`${MAX_SESSION_SECONDS} and ${MAX_CALL_SECONDS}`)}`,
    ),
  ],
);

/** The credits that a key and its descendants have spent and hold, in the key's environment. One row for each key. */
export const apiKeyMeters = pgTable(
  "api_key_meters",
  {
    tenantId: bytewise("tenant_id").notNull(),
    apiKeyId: bytewise("api_key_id").notNull(),
    settled: micros("settled").default(0),
    reserved: micros("reserved").default(0),
    /** How many sessions are open: see `isCounted` of a session. */
    openSessions: bigint("open_sessions", { mode: "number" }).notNull().default(0),
    /** The percentage of the spend cap that was announced last: 0, 80 or 100. */
    spendNotice: integer("spend_notice").notNull().default(0),
    /** How many days before the expiry of the key it was announced last: 7 or 1; null: not yet. */
    expiryNotice: integer("expiry_notice"),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.apiKeyId] }),
    check("api_key_meters_open_sessions_check", sql`${table.openSessions} >= 0`),
    check("api_key_meters_counters_check", sql`${table.settled} >= 0 and ${table.reserved} >= 0`),
  ],
);

/** A call: the credits that it holds while it is open, and its usage. */
export const usageSessions = pgTable(
  "usage_sessions",
  {
    tenantId: bytewise("tenant_id")
      .notNull()
      .references(() => tenants.tenantId),
    id: bytewise("id").notNull(),
    environment: text("environment").notNull(),
    apiKeyId: bytewise("api_key_id").notNull(),
    /** The keys that the session is charged to: its key, and the ancestors of the key in the same environment. */
    lineage: text("lineage").array().notNull(),
    avatarId: bytewise("avatar_id"),
    status: text("status").notNull(),
    /** The credits that the session holds while it is open. At most this is charged. */
    reserved: micros("reserved"),
    /** The usage reported so far; for a closed session, the charge. */
    used: micros("used").default(0),
    /** Credit micros for each second, when the session was opened. */
    price: micros("price"),
    metadata: json("metadata").notNull(),
    /** The reason that the caller gave at the release. */
    reason: text("reason"),
    version: integer("version").notNull().default(1),
    createdAt: time("created_at").notNull(),
    /** The time of the first report of usage. */
    startedAt: time("started_at"),
    endedAt: time("ended_at"),
    /** An open session that is not reported before this moment is overdue. */
    expiresAt: time("expires_at").notNull(),
    /**
     * Never later than `expiresAt`, and indexed in place of it. A report moves it only when it is near, so most reports
     * write to no index. The functions set it for a new session; a trigger moves it later (migration 0027).
     */
    sweepAt: time("sweep_at").notNull().default(sql`'-infinity'`),
    /** Whether a caller without the right to write usage has released the started session. */
    mustEnd: boolean("must_end").notNull().default(false),
    /** The reported usage when the session ended; null while it is open. */
    reported: bigint("reported", { mode: "number" }),
    /** The key that reported last; then the key that ended the session, or `sweep`. */
    reportedBy: bytewise("reported_by"),
    closedBy: bytewise("closed_by"),
    /**
     * Whether the session is in `open_sessions` of its account and its meters. The functions set it with the counters. A trigger
     * sets both for the functions of an earlier version, which know neither (migration 0018).
     */
    isCounted: boolean("is_counted").notNull().default(false),
    /**
     * The video that the session pays for. Such a session is never counted, because a video takes no place from calls.
     */
    videoId: bytewise("video_id"),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // The sweep of overdue sessions, of one tenant and of all. No index may name a column that a report changes.
    index("usage_sessions_sweep_index").on(table.sweepAt).where(sql`${table.endedAt} is null`),
    index("usage_sessions_tenant_sweep_index").on(table.tenantId, table.sweepAt).where(sql`${table.endedAt} is null`),
    // The list, and sums by time.
    index("usage_sessions_list_index").on(table.environment, table.tenantId, table.id),
    index("usage_sessions_end_user_index")
      .on(sql`(metadata ->> 'user_id')`, table.environment, table.tenantId, table.id)
      .where(sql`${table.metadata} ->> 'user_id' is not null`),
    check("usage_sessions_id_check", isId(table.id, "ses")),
    check("usage_sessions_environment_check", inList(table.environment, ENVIRONMENTS)),
    check("usage_sessions_status_check", inList(table.status, SESSION_STATUSES)),
    check("usage_sessions_used_check", sql`${table.used} between 0 and ${table.reserved}`),
    check("usage_sessions_price_check", sql`${table.price} > 0`),
    check(
      "usage_sessions_ended_check",
      sql`(${table.status} in ('released', 'failed')) = (${table.endedAt} is not null)`,
    ),
  ],
);

/** Every movement of credits, once. A trigger refuses UPDATE, DELETE and TRUNCATE. */
export const creditEntries = pgTable(
  "credit_entries",
  {
    tenantId: bytewise("tenant_id")
      .notNull()
      .references(() => tenants.tenantId),
    id: bytewise("id").notNull(),
    environment: text("environment").notNull(),
    kind: text("kind").notNull(),
    amount: micros("amount"),
    /** The session and its key; null for movements of the operator without a session. */
    sessionId: bytewise("session_id"),
    apiKeyId: bytewise("api_key_id"),
    /** For the end of a session: the last reporter and the closer, as in the session. */
    reportedBy: bytewise("reported_by"),
    closedBy: bytewise("closed_by"),
    /** The operator's reference. A grant, void or adjustment with the same reference is written once. */
    reference: text("reference"),
    requestId: text("request_id").notNull(),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    uniqueIndex("credit_entries_reference_index")
      .on(table.tenantId, table.environment, table.reference)
      .where(sql`${table.reference} is not null`),
    index("credit_entries_list_index").on(table.environment, table.tenantId, table.id),
    index("credit_entries_kind_index").on(table.kind, table.environment, table.tenantId, table.id),
    index("credit_entries_api_key_index").on(table.apiKeyId, table.environment, table.tenantId, table.id),
    index("credit_entries_session_index").on(table.sessionId, table.environment, table.tenantId, table.id),
    check("credit_entries_id_check", isId(table.id, "ent")),
    check("credit_entries_environment_check", inList(table.environment, ENVIRONMENTS)),
    check("credit_entries_kind_check", inList(table.kind, ENTRY_KINDS)),
    check("credit_entries_amount_check", sql`${table.amount} between 0 and 9007199254740991`),
  ],
);
