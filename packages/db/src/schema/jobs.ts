/** The tables of the jobs that process assets, prepare avatars and render videos. */

import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import { JOB_KINDS } from "@realtime-avatar/domain/job";
import { sql } from "drizzle-orm";
import { check, index, integer, pgTable, primaryKey, text, uniqueIndex } from "drizzle-orm/pg-core";
import { bytewise, inList, isId, time, whenCompared } from "./columns.ts";
import { tenants } from "./tenants.ts";

const tenantId = () =>
  bytewise("tenant_id")
    .notNull()
    .references(() => tenants.tenantId);

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
    /** When the job may be claimed, while `leased_until` is null. */
    runAt: time("run_at").notNull(),
    /** The end of the lease of the worker that has claimed the job. After it, the job may be claimed again. */
    leasedUntil: time("leased_until"),
    /** Identifies the claim. A worker with another lease has lost the job. */
    lease: text("lease"),
    /** How often the job was claimed. Some claims do not count (claim_job, give_back_job). */
    attempts: integer("attempts").notNull().default(0),
    /**
     * How often its lease has run out since the last completed attempt, because its worker died or was cut off from the
     * database. Above 0, the job runs alone in its worker.
     */
    lostLeases: integer("lost_leases").notNull().default(0),
    lastError: text("last_error"),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // The jobs of a target, each once.
    uniqueIndex("jobs_of_target_index")
      .on(table.tenantId, table.targetId, table.kind, table.generation)
      .where(whenCompared(table.targetId)),
    // The next job of each tenant, and of all tenants, by the time when it may be claimed. All rows meet the condition,
    // which prevents statements that name a job by its id from using this index: see whenCompared.
    index("jobs_tenant_due_index")
      .on(table.tenantId, sql`coalesce(leased_until, run_at)`)
      .where(sql`${table.attempts} >= 0`),
    index("jobs_available_index").on(sql`coalesce(leased_until, run_at)`),
    check("jobs_id_check", isId(table.id, "job")),
    check("jobs_environment_check", inList(table.environment, ENVIRONMENTS)),
    check("jobs_kind_check", inList(table.kind, JOB_KINDS)),
    check("jobs_generation_check", sql`${table.generation} >= 1`),
    check("jobs_lease_check", sql`(${table.lease} is null) = (${table.leasedUntil} is null)`),
    check("jobs_attempts_check", sql`${table.attempts} >= 0`),
    check("jobs_last_error_check", sql`char_length(${table.lastError}) <= 500`),
  ],
);

/**
 * The slots for the running jobs of a tenant. A claim locks one of them. Counting the running jobs instead would be
 * wrong, because two concurrent claims count the same number. Rows are never deleted.
 */
export const jobSlots = pgTable(
  "job_slots",
  {
    tenantId: tenantId(),
    /** From 1; for videos, from 1001. A tenant may use the configured number of each. */
    slot: integer("slot").notNull(),
    /** The last job in the slot, and its claim. */
    jobId: bytewise("job_id"),
    lease: text("lease"),
    /** The time until which the slot is taken; null: it is free. */
    leasedUntil: time("leased_until"),
    /** When the slot was taken last. */
    startedAt: time("started_at"),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.slot] }),
    // The tenant that was served last.
    index("job_slots_started_at_index").on(table.startedAt),
    check("job_slots_slot_check", sql`${table.slot} >= 1`),
  ],
);
