/** The tables of webhooks: endpoints, events, and the deliveries of events to endpoints. */

import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import {
  CreateWebhookEndpoint,
  DELIVERY_STATUSES,
  DISABLED_REASONS,
  ENDPOINT_STATUSES,
} from "@realtime-avatar/domain/webhooks/schemas";
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
  timestamp,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import { bytes, bytewise, inList, isId, length, time } from "./columns.ts";
import { tenants } from "./tenants.ts";

const tenantId = () =>
  bytewise("tenant_id")
    .notNull()
    .references(() => tenants.tenantId);

const bounds = CreateWebhookEndpoint.properties;

/** The receivers of a tenant's events. The deletion of an endpoint deletes its row, with its secrets. */
export const webhookEndpoints = pgTable(
  "webhook_endpoints",
  {
    tenantId: tenantId(),
    id: bytewise("id").notNull(),
    environment: text("environment").notNull(),
    /** Null: nothing is sent. A program reads the deliveries. */
    url: text("url"),
    description: text("description"),
    /** Types and groups, as in the API; null: all. */
    events: text("events").array(),
    ordered: boolean("ordered").notNull().default(false),
    status: text("status").notNull(),
    disabledReason: text("disabled_reason"),
    /** Sealed: see `webhooks/secret.ts` of the domain. The previous secret also signs until its expiry. */
    secret: bytes("secret").notNull(),
    previousSecret: bytes("previous_secret"),
    previousSecretExpiresAt: time("previous_secret_expires_at"),
    /** The first failure since the last success. */
    failingSince: time("failing_since"),
    /** Nothing is sent before this time, because the endpoint asked for a pause. */
    slowUntil: time("slow_until"),
    /**
     * The running recovery: the time at which it continues, and the first and the last id of its deliveries. Null
     * without a recovery.
     */
    recoveryNextAt: time("recovery_next_at"),
    recoveryNextId: bytewise("recovery_next_id"),
    recoveryLastId: bytewise("recovery_last_id"),
    /** The time of the last request for a recovery. */
    recoveredAt: time("recovered_at"),
    /**
     * When its deliveries were claimed last. Of a tenant's endpoints, the one that was served longest ago is served
     * next.
     */
    claimedAt: time("claimed_at"),
    version: integer("version").notNull(),
    createdAt: time("created_at").notNull(),
    updatedAt: time("updated_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // The endpoints to which an event is sent. A tenant without endpoints costs one probe.
    index("webhook_endpoints_enabled_index")
      .on(table.tenantId, table.environment)
      .where(sql`${table.status} = 'enabled'`),
    index("webhook_endpoints_list_index").on(table.environment, table.tenantId, table.id),
    // For the metrics.
    index("webhook_endpoints_disabled_index").on(table.tenantId, table.id).where(sql`${table.status} = 'disabled'`),
    // The next recovery that continues.
    index("webhook_endpoints_recovery_index").on(table.recoveryNextAt).where(sql`${table.recoveryNextAt} is not null`),
    check("webhook_endpoints_id_check", isId(table.id, "whe")),
    check("webhook_endpoints_environment_check", inList(table.environment, ENVIRONMENTS)),
    check("webhook_endpoints_url_check", length(table.url, bounds.url.anyOf[0])),
    check("webhook_endpoints_description_check", length(table.description, bounds.description.anyOf[0])),
    check("webhook_endpoints_events_check", sql`cardinality(${table.events}) between 1 and 64`),
    check("webhook_endpoints_status_check", inList(table.status, ENDPOINT_STATUSES)),
    check("webhook_endpoints_disabled_reason_check", inList(table.disabledReason, DISABLED_REASONS)),
    check(
      "webhook_endpoints_disabled_check",
      sql`(${table.disabledReason} is not null) = (${table.status} = 'disabled')`,
    ),
    check(
      "webhook_endpoints_previous_secret_check",
      sql`(${table.previousSecret} is null) = (${table.previousSecretExpiresAt} is null)`,
    ),
    check("webhook_endpoints_version_check", sql`${table.version} >= 1`),
  ],
);

/**
 * A tenant that has, or had, an endpoint. Creating an endpoint locks the row, so that the count of endpoints is exact.
 * Claiming deliveries of the tenant locks it, so that the limit of open deliveries is exact. Rows are never deleted.
 */
export const webhookTurns = pgTable(
  "webhook_turns",
  {
    tenantId: tenantId().primaryKey(),
    /**
     * When deliveries were claimed last, to the microsecond, so that tenants that one claim serves keep their order.
     */
    claimedAt: timestamp("claimed_at", { withTimezone: true }),
  },
  // Finds the last served tenant.
  (table) => [index("webhook_turns_claimed_at_index").on(table.claimedAt)],
);

/**
 * The budget of a tenant for sending again to a host. All of its endpoints of the host in an environment share the
 * budget, which outlives them. A row that was not used for a day is deleted when the tenant adds a neighbouring row.
 */
export const webhookHosts = pgTable(
  "webhook_hosts",
  {
    tenantId: bytewise("tenant_id").notNull(),
    environment: text("environment").notNull(),
    /** The host of the URL in lower case, without a dot at its end; the id of an endpoint without a URL. */
    host: bytewise("host").notNull(),
    /**
     * The number of recovered deliveries that have failed in a row, up to 5. With 5, recoveries are paused: one
     * delivery is tried at a time.
     */
    failures: integer("failures").notNull(),
    /** The number of deliveries that were tried since then. */
    probes: integer("probes").notNull(),
    /**
     * The earliest time of the next recovered delivery. To the microsecond, because the rate is finer than a
     * millisecond.
     */
    nextReleaseAt: timestamp("next_release_at", { withTimezone: true }).notNull(),
    /** The time until which the resends and tests so far use up the budget. */
    resentUntil: time("resent_until"),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.environment, table.host] })],
);

/**
 * Events, one row for all endpoints. `emit_events` writes them with the change. Events and deliveries have no foreign
 * keys, which would slow down every change: they are written only for existing endpoints. For the same reason, columns
 * that a single function writes have no checks, because PostgreSQL reads each check for each statement.
 */
export const webhookEvents = pgTable(
  "webhook_events",
  {
    tenantId: bytewise("tenant_id").notNull(),
    id: bytewise("id").notNull(),
    environment: text("environment").notNull(),
    type: text("type").notNull(),
    targetId: bytewise("target_id").notNull(),
    /** Grows with each event of the target. */
    sequence: bigint("sequence", { mode: "number" }).notNull(),
    /** The body, stored at the first attempt. Each attempt to each endpoint sends the same bytes. */
    body: text("body"),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // Two events of one target cannot have the same place.
    uniqueIndex("webhook_events_sequence_index").on(table.tenantId, table.targetId, table.sequence),
  ],
);

/** An event for an endpoint. */
export const webhookDeliveries = pgTable(
  "webhook_deliveries",
  {
    tenantId: bytewise("tenant_id").notNull(),
    id: bytewise("id").notNull(),
    environment: text("environment").notNull(),
    endpointId: bytewise("endpoint_id").notNull(),
    eventId: bytewise("event_id").notNull(),
    /** Copies from the event, for lists and for the order. */
    eventType: text("event_type").notNull(),
    targetId: bytewise("target_id").notNull(),
    sequence: bigint("sequence", { mode: "number" }).notNull(),
    status: text("status").notNull().default("pending"),
    /** The newest attempts: `DeliveryAttempt` of the domain. */
    attempts: json("attempts").notNull().default([]),
    /** The number of attempts since the delivery was queued. It determines the next pause. */
    attemptCount: integer("attempt_count").notNull().default(0),
    /**
     * Whether the delivery is parked: an earlier event of the same target is pending, and the endpoint asked for order.
     * The end of the earlier one sets this to false. Only a claim sets it to true.
     */
    waits: boolean("waits").notNull().default(false),
    /** The time from which a pending delivery may be sent. */
    nextAttemptAt: time("next_attempt_at"),
    /** The claim of the worker that sends it, and the end of that claim. */
    lease: text("lease"),
    leasedUntil: time("leased_until"),
    /** The host whose budget a recovered or resent delivery, or a test, has used. */
    budgetHost: text("budget_host"),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // The next delivery of all endpoints, and of each one: by the time when it may be claimed, then in the order of
    // events.
    index("webhook_deliveries_due_index")
      .on(sql`coalesce(leased_until, next_attempt_at)`)
      .where(sql`${table.status} = 'pending' and not ${table.waits}`),
    index("webhook_deliveries_endpoint_due_index")
      .on(
        table.tenantId,
        table.endpointId,
        sql`coalesce(leased_until, next_attempt_at)`,
        table.createdAt,
        table.sequence,
      )
      .where(sql`${table.status} = 'pending' and not ${table.waits}`),
    // Whether an earlier event of the same target is pending, for an endpoint with order.
    index("webhook_deliveries_order_index")
      .on(table.tenantId, table.endpointId, table.targetId, table.sequence)
      .where(sql`${table.status} = 'pending'`),
    // The next parked delivery, when an event of the same target ends.
    index("webhook_deliveries_waiting_index")
      .on(table.tenantId, table.endpointId, table.targetId, table.sequence)
      .where(sql`${table.waits}`),
    // The open deliveries of a tenant and an endpoint.
    index("webhook_deliveries_lease_index")
      .on(table.tenantId, table.endpointId, table.leasedUntil)
      .where(sql`${table.leasedUntil} is not null`),
    // The deliveries that can be recovered.
    index("webhook_deliveries_failed_index")
      .on(table.tenantId, table.endpointId, table.id)
      .where(sql`${table.status} in ('failed', 'canceled')`),
    // The deliveries that wait for another attempt and can be recovered.
    index("webhook_deliveries_retried_index")
      .on(table.tenantId, table.endpointId, table.id)
      .where(sql`${table.status} = 'pending' and ${table.attemptCount} > 0`),
    // Only rows of the environment test. Live rows are read in the order of the primary key, because a delivery has
    // enough indexes to write.
    index("webhook_deliveries_test_index")
      .on(table.environment, table.tenantId, table.id)
      .where(sql`${table.environment} <> 'live'`),
    check("webhook_deliveries_status_check", inList(table.status, DELIVERY_STATUSES)),
    check("webhook_deliveries_due_check", sql`(${table.nextAttemptAt} is not null) = (${table.status} = 'pending')`),
    check("webhook_deliveries_lease_check", sql`(${table.lease} is null) = (${table.leasedUntil} is null)`),
    check(
      "webhook_deliveries_waits_check",
      sql`not ${table.waits} or (${table.status} = 'pending' and ${table.lease} is null)`,
    ),
  ],
);
