/**
 * The tables of calls. A call is a usage session (credits.ts) with a row here. The avatar workers and their slots are
 * independent of tenants, in the schema `fleet`.
 */
import { MAX_OBSERVATIONS, type StoredObservation } from "@realtime-avatar/domain/calls/kept/connection-history";
import { CALL_MODES } from "@realtime-avatar/domain/calls/schemas";
import { COMMAND_KINDS, HEARD, TURN_STATUSES, TURN_TEXTS as turnTexts } from "@realtime-avatar/domain/calls/turns";
import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  date,
  index,
  integer,
  json,
  jsonb,
  pgSchema,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import { bytes, bytewise, inList, isId, length, time, whenCompared } from "./columns.ts";

/**
 * The states of a call's room. `create`: it must be created, and may exist. `exists`. `delete`: the call has ended, and
 * the room must be deleted. `gone`: it is deleted. `foreign`: it is not ours, so it is neither created nor listed nor
 * deleted; after the end of the call, `gone`.
 */
export const ROOM_STATES = ["create", "exists", "delete", "gone", "foreign"] as const;

/** The part of a call beside its usage session: the room, and the data for its worker. */
export const calls = pgTable(
  "calls",
  {
    tenantId: bytewise("tenant_id").notNull(),
    sessionId: bytewise("session_id").notNull(),
    roomName: bytewise("room_name").notNull(),
    room: text("room").notNull(),
    mode: text("mode").notNull(),
    /** The part of the request for the renderer. */
    input: json("input").notNull(),
    /** The requested length of the call. Its session may hold credits for less. */
    maxSeconds: integer("max_seconds").notNull(),
    /** Counts the workers that have had the call. */
    generation: integer("generation").notNull().default(1),
    /**
     * The moment from which the seconds of the call count, according to its worker; the seconds used before precede it.
     * Null while the worker does not have both sides: before the start, after a move, and while the worker joins again.
     */
    countsFrom: time("counts_from"),
    /** Counts the rooms of the call, which gets another room when its person comes back. */
    roomNumber: integer("room_number").notNull().default(1),
    /** How often the person has left, and the seconds of absence that were not charged, as the worker reports them. */
    gapCount: integer("gap_count").notNull().default(0),
    gapSeconds: integer("gap_seconds").notNull().default(0),
    /** Whether the call has segments or `speaking`, which its end erases. */
    hasHistory: boolean("has_history").notNull().default(false),
    /**
     * The speech under way, as far as it was heard, sealed like a segment. It becomes a segment when the worker is
     * lost.
     */
    speaking: bytes("speaking"),
    /** How often its worker has handed it over to another one. A handover counts in `generation` but not as a loss. */
    handovers: integer("handovers").notNull().default(0),
    /** How many processes of the call have ended at workers with a current lease. */
    lostProcesses: integer("lost_processes").notNull().default(0),
    /** The usage of its conversation, as its workers report it. */
    inputTokens: integer("input_tokens").notNull().default(0),
    outputTokens: integer("output_tokens").notNull().default(0),
    estimatedTokens: integer("estimated_tokens").notNull().default(0),
    heardSeconds: integer("heard_seconds").notNull().default(0),
    spokenCharacters: integer("spoken_characters").notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.sessionId] }),
    // A worker names a call by its session alone.
    index("calls_session_index").on(table.sessionId, table.tenantId),
    // Open calls whose room is not the first one, for `compare_rooms`.
    index("calls_resumed_index")
      .on(table.tenantId, table.sessionId)
      .where(sql`${table.roomNumber} > 1 and ${table.room} in ('create', 'exists')`),
    index("calls_history_index").on(table.tenantId, table.sessionId).where(sql`${table.hasHistory}`),
    index("calls_rooms_to_delete_index").on(table.tenantId, table.sessionId).where(sql`${table.room} = 'delete'`),
    check("calls_session_id_check", isId(table.sessionId, "ses")),
    check("calls_room_check", inList(table.room, ROOM_STATES)),
    check("calls_mode_check", inList(table.mode, CALL_MODES)),
  ],
);

const sum = (name: string) => bigint(name, { mode: "number" }).notNull();

/** The usage of a tenant's conversations on a day in UTC: the sums of the reports of that day. */
export const conversationUsage = pgTable(
  "conversation_usage",
  {
    tenantId: bytewise("tenant_id").notNull(),
    environment: text("environment").notNull(),
    day: date("day").notNull(),
    inputTokens: sum("input_tokens"),
    outputTokens: sum("output_tokens"),
    estimatedTokens: sum("estimated_tokens"),
    heardSeconds: sum("heard_seconds"),
    spokenCharacters: sum("spoken_characters"),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.day, table.environment] }),
    check("conversation_usage_environment_check", inList(table.environment, ENVIRONMENTS)),
  ],
);

/**
 * The agents of open calls. An agent with a brought room is complete at once. An agent that was dispatched into a room
 * of ours is awaited until it brings the avatar. Then the columns have the server and the token with which the avatar
 * joins, and the participant for whom it speaks.
 */
export const callAgents = pgTable(
  "call_agents",
  {
    tenantId: bytewise("tenant_id").notNull(),
    sessionId: bytewise("session_id").notNull(),
    createdAt: time("created_at").notNull(),
    url: text("url"),
    /** Sealed; see the domain's calls/brought-room.ts. */
    token: bytes("token"),
    /** The digest of the token and the key. */
    digest: bytes("digest"),
    identity: text("identity"),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.sessionId] }),
    // The same token of the same key is the same call.
    uniqueIndex("call_agents_token_index").on(table.tenantId, table.digest).where(whenCompared(table.digest)),
    check("call_agents_session_id_check", isId(table.sessionId, "ses")),
    check(
      "call_agents_brought_check",
      sql`num_nulls(${table.url}, ${table.token}, ${table.digest}, ${table.identity}) in (0, 4)`,
    ),
  ],
);

/** Requests that wait for a slot: see the domain's calls/queue.ts. */
export const callTickets = pgTable(
  "call_tickets",
  {
    tenantId: bytewise("tenant_id").notNull(),
    /** Sorts in creation order. */
    id: bytewise("id").notNull(),
    apiKeyId: bytewise("api_key_id").notNull(),
    /** See `ticketFingerprint`. */
    fingerprint: bytewise("fingerprint").notNull(),
    /** Tickets are served in the order of their turns: see queue_of_calls.sql. */
    turn: bigint("turn", { mode: "number" }).notNull(),
    polledAt: time("polled_at").notNull(),
    /** For the test outcome `queued`: how often the request was queued. It is queued twice. Null for other requests. */
    testPolls: integer("test_polls"),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    check("call_tickets_id_check", isId(table.id, "tkt")),
  ],
);

/**
 * The turns that programs give to the avatars of calls, and interruptions (`interrupt`). The turns of a call are
 * written only under the lock on its row. The texts are erased as soon as the turn is over, and the row an hour later.
 */
export const callTurns = pgTable(
  "call_turns",
  {
    tenantId: bytewise("tenant_id").notNull(),
    id: bytewise("id").notNull(),
    sessionId: bytewise("session_id").notNull(),
    /** The place among the turns of the call that are not over. */
    number: integer("number").notNull(),
    kind: text("kind").notNull(),
    text: text("text"),
    instructions: text("instructions"),
    /** Whether the turn interrupts the avatar. */
    interrupts: boolean("interrupts").notNull(),
    status: text("status").notNull(),
    heard: text("heard"),
    /**
     * The generation of the call whose worker has received the turn. No other generation gets it, so it is not said
     * twice.
     */
    generation: integer("generation"),
    version: integer("version").notNull().default(1),
    createdAt: time("created_at").notNull(),
    endedAt: time("ended_at"),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    index("call_turns_open_index")
      .on(table.sessionId, table.tenantId, table.number)
      .where(sql`${table.endedAt} is null`),
    index("call_turns_ended_index").on(table.endedAt).where(sql`${table.endedAt} is not null`),
    check("call_turns_id_check", isId(table.id, "trn")),
    check("call_turns_session_id_check", isId(table.sessionId, "ses")),
    check("call_turns_kind_check", inList(table.kind, COMMAND_KINDS)),
    check("call_turns_text_check", length(table.text, turnTexts.text.anyOf[0])),
    check("call_turns_instructions_check", length(table.instructions, turnTexts.instructions.anyOf[0])),
    check("call_turns_status_check", inList(table.status, TURN_STATUSES)),
    check("call_turns_heard_check", length(table.heard, HEARD)),
    check(
      "call_turns_ended_check",
      sql`(${table.endedAt} is null) = (${table.status} in ('queued', 'speaking')) and (${table.endedAt} is null or num_nonnulls(${table.text}, ${table.instructions}) = 0)`,
    ),
    check("call_turns_version_check", sql`${table.version} >= 1`),
  ],
);

/**
 * Whether the request of a ticket still waits. The functions use the same time: three times `RETRY_MS` of the domain.
 */
export const isWaiting = sql`${callTickets.polledAt} > now() - interval '6 seconds'`;

/**
 * Transcripts of calls, for two purposes: a delivery (`receiver`) and reading (`is_kept`). The first purpose ends with
 * the delivery, the second with the deletion or the retention. A row without a purpose is deleted, with its segments,
 * at the end of its call. The parts are sealed: see the domain's calls/transcript.ts.
 */
export const callTranscripts = pgTable(
  "call_transcripts",
  {
    tenantId: bytewise("tenant_id").notNull(),
    sessionId: bytewise("session_id").notNull(),
    /** The URL, and the secret that signs. Null: the transcript is not sent. */
    receiver: bytes("receiver"),
    /** Whether the tenant kept transcripts when the call began, and has not deleted this one. */
    isKept: boolean("is_kept").notNull().default(false),
    /** The end of the call, from which the retention counts. */
    endedAt: time("ended_at"),
    /** The size of the sealed segments. */
    sizeBytes: integer("size_bytes").notNull().default(0),
    /** Whether segments were dropped. */
    isTruncated: boolean("is_truncated").notNull().default(false),
    /** Whether the worker has reported that no more segments follow. */
    isComplete: boolean("is_complete").notNull().default(false),
    /** The worker that had the call at its end. Null while the call is open. */
    workerId: bytewise("worker_id"),
    /**
     * The time from which it may be sent. For an open call: the time of the next check of its end. Null: the call has
     * ended, and the transcript is not sent.
     */
    dueAt: time("due_at"),
    /** The claim of the worker that sends it, and the end of that claim. */
    lease: text("lease"),
    leasedUntil: time("leased_until"),
    attemptCount: integer("attempt_count").notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.sessionId] }),
    // The next transcript of all tenants, and of each tenant.
    index("call_transcripts_due_index").on(sql`coalesce(leased_until, due_at)`),
    index("call_transcripts_queue_index")
      .on(table.tenantId, sql`coalesce(leased_until, due_at)`)
      .where(sql`${table.dueAt} is not null`),
    // The oldest kept transcripts.
    index("call_transcripts_kept_index").on(table.endedAt).where(sql`${table.isKept} and ${table.endedAt} is not null`),
    // The transcripts that wait for another attempt.
    index("call_transcripts_waiting_index").on(table.tenantId).where(sql`${table.attemptCount} > 0`),
    check("call_transcripts_session_id_check", isId(table.sessionId, "ses")),
    check("call_transcripts_lease_check", sql`(${table.lease} is null) = (${table.leasedUntil} is null)`),
  ],
);

/**
 * The connection histories of calls that were started with one: the observations of their pages, in order. See the
 * domain's calls/kept/connection-history.ts.
 */
export const connectionHistories = pgTable(
  "connection_histories",
  {
    tenantId: bytewise("tenant_id").notNull(),
    sessionId: bytewise("session_id").notNull(),
    observations: jsonb("observations").$type<StoredObservation[]>().notNull().default([]),
    /** The start of the call, or the last upload. The retention counts from it. */
    updatedAt: time("updated_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.sessionId] }),
    index("connection_histories_age_index").on(table.updatedAt),
    check("connection_histories_session_id_check", isId(table.sessionId, "ses")),
    check(
      "connection_histories_observations_check",
      sql`jsonb_array_length(${table.observations}) <= ${sql.raw(String(MAX_OBSERVATIONS))}`,
    ),
  ],
);

/**
 * The segments of the conversation of a call, in order. Each worker of the call (`generation`) counts its segments from
 * 0. They serve the next process of the call, and the transcript. Without a row in `call_transcripts`, only the newest
 * segments are kept, until the end of the call.
 */
export const callSegments = pgTable(
  "call_segments",
  {
    tenantId: bytewise("tenant_id").notNull(),
    sessionId: bytewise("session_id").notNull(),
    generation: integer("generation").notNull(),
    n: integer("n").notNull(),
    segment: bytes("segment").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.sessionId, table.generation, table.n] }),
    check("call_segments_session_id_check", isId(table.sessionId, "ses")),
  ],
);

export const fleet = pgSchema("fleet");

/** The avatar workers. A worker whose lease has ended loses its calls. */
export const avatarWorkers = fleet.table("avatar_workers", {
  id: bytewise("id").primaryKey(),
  features: text("features").array().notNull(),
  /**
   * The ids of the voices and the names of the models that it has reported. Null: it has not reported any, or holds no
   * conversations.
   */
  voices: text("voices").array(),
  models: text("models").array(),
  slots: integer("slots").notNull(),
  leaseUntil: time("lease_until").notNull(),
  /**
   * The last sync of the worker. A lost worker has no lease but keeps this value. Null: the previous release wrote the
   * row.
   */
  syncedAt: time("synced_at"),
});

/**
 * A place for one call at a worker. It is free while `session_id` is null. It can be used while its worker has a
 * current lease and at least this many slots.
 */
export const avatarSlots = fleet.table(
  "avatar_slots",
  {
    workerId: bytewise("worker_id").notNull(),
    n: integer("n").notNull(),
    tenantId: bytewise("tenant_id"),
    sessionId: bytewise("session_id"),
    /** Whether the worker has news: a call to start or to leave. */
    hasNews: boolean("has_news").notNull().default(false),
  },
  (table) => [
    primaryKey({ columns: [table.workerId, table.n] }),
    // A call has one slot.
    uniqueIndex("avatar_slots_session_index").on(table.sessionId).where(sql`${table.sessionId} is not null`),
    // In this order: the first slot of each worker, then the second of each, and so on.
    index("avatar_slots_free_index").on(table.n, table.workerId).where(sql`${table.sessionId} is null`),
    index("avatar_slots_news_index").on(table.workerId).where(sql`${table.hasNews}`),
    check("avatar_slots_session_check", sql`(${table.tenantId} is null) = (${table.sessionId} is null)`),
  ],
);

/**
 * The avatars that workers load before a call: the latest one of a tenant in each environment. A row has no effect
 * after its end. It remains until another request replaces or deletes it.
 */
export const avatarPreloads = fleet.table(
  "avatar_preloads",
  {
    tenantId: bytewise("tenant_id").notNull(),
    environment: text("environment").notNull(),
    /** The id of the request. */
    id: bytewise("id").notNull(),
    avatarId: bytewise("avatar_id").notNull(),
    workerId: bytewise("worker_id").notNull(),
    endsAt: time("ends_at").notNull(),
    /** Whether the worker has not yet received the request. */
    hasNews: boolean("has_news").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.environment] }),
    index("avatar_preloads_worker_index").on(table.workerId, table.endsAt),
    check("avatar_preloads_environment_check", inList(table.environment, ENVIRONMENTS)),
    check("avatar_preloads_avatar_id_check", isId(table.avatarId, "ava")),
  ],
);

/** One row, written by the migration. */
export const service = fleet.table("service", {
  /** Random. It distinguishes the rooms of services that share a LiveKit server. */
  instance: bytewise("instance").primaryKey(),
});
