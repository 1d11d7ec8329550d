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

/** Where a tenant gets its events. A row that is deleted is gone, with its secrets. */
export const webhookEndpoints = pgTable(
  "webhook_endpoints",
  {
    tenantId: tenantId(),
    id: bytewise("id").notNull(),
    environment: text("environment").notNull(),
    /** Null: nothing is sent; a program reads the deliveries. */
    url: text("url"),
    description: text("description"),
    /** Types and groups, as in the API; null: all. */
    events: text("events").array(),
    ordered: boolean("ordered").notNull().default(false),
    status: text("status").notNull(),
    disabledReason: text("disabled_reason"),
    /** Sealed: `webhooks/secret.ts` of the domain. The previous one signs too until it ends. */
    secret: bytes("secret").notNull(),
    previousSecret: bytes("previous_secret"),
    previousSecretExpiresAt: time("previous_secret_expires_at"),
    /** The first failure since the last success. */
    failingSince: time("failing_since"),
    /** Nothing is sent before: the endpoint asked for less. */
    slowUntil: time("slow_until"),
    /** The recovery that runs: when it goes on, from which id of a delivery, and to which. Null without one. */
    recoveryNextAt: time("recovery_next_at"),
    recoveryNextId: bytewise("recovery_next_id"),
    recoveryLastId: bytewise("recovery_last_id"),
    /** The last request of a recovery. */
    recoveredAt: time("recovered_at"),
    /** When its deliveries were claimed last: of a tenant's endpoints, the one that was served longest ago is served next. */
    claimedAt: time("claimed_at"),
    version: integer("version").notNull(),
    createdAt: time("created_at").notNull(),
    updatedAt: time("updated_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // The endpoints that a change is sent to. A tenant without one costs one probe.
    index("webhook_endpoints_enabled_index")
      .on(table.tenantId, table.environment)
      .where(sql`${table.status} = 'enabled'`),
    index("webhook_endpoints_list_index").on(table.environment, table.tenantId, table.id),
    // For the metrics.
    index("webhook_endpoints_disabled_index").on(table.tenantId, table.id).where(sql`${table.status} = 'disabled'`),
    // The next recovery that goes on.
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
 * A tenant that has, or had, an endpoint. Who creates an endpoint locks it, so that the count of endpoints is exact; a worker
 * that claims deliveries of the tenant locks it, so that the bound of what is open for the tenant is exact. Never deleted.
 */
export const webhookTurns = pgTable(
  "webhook_turns",
  {
    tenantId: tenantId().primaryKey(),
    /** When deliveries were claimed last. To the microsecond: tenants that one claim serves keep their order. */
    claimedAt: timestamp("claimed_at", { withTimezone: true }),
  },
  // Which tenant was served last.
  (table) => [index("webhook_turns_claimed_at_index").on(table.claimedAt)],
);

/**
 * What a tenant has sent again to a host: all of its endpoints of the host in an environment share one budget, which outlives them.
 * A row that was not used for a day is deleted when the tenant adds one near it.
 */
export const webhookHosts = pgTable(
  "webhook_hosts",
  {
    tenantId: bytewise("tenant_id").notNull(),
    environment: text("environment").notNull(),
    /** The host of the URL in lower case, without a dot at its end; the id of an endpoint without a URL. */
    host: bytewise("host").notNull(),
    /** Recovered deliveries that have failed one after another, up to 5. With 5, recoveries are paused: one is tried at a time. */
    failures: integer("failures").notNull(),
    /** Deliveries that were tried since then. */
    probes: integer("probes").notNull(),
    /** No recovered delivery is due before. To the microsecond: the rate is finer than a millisecond. */
    nextReleaseAt: timestamp("next_release_at", { withTimezone: true }).notNull(),
    /** Until when the resends and tests so far use up the budget. */
    resentUntil: time("resent_until"),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.environment, table.host] })],
);

/**
 * What has happened, once for all endpoints. Written with the change, by `emit_events`. Neither events nor deliveries have a foreign
 * key, which every change would pay for: they are written for endpoints that exist. For the same reason they have no checks of what
 * one function writes alone: PostgreSQL reads each check anew for each statement.
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
    /** The body as it is sent, from the first attempt on: each attempt to each endpoint sends the same bytes. */
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
    /** How many attempts were made since it was queued: which pause comes next. */
    attemptCount: integer("attempt_count").notNull().default(0),
    /**
     * An earlier event of the same target is pending, and the endpoint asked for order: it is not looked at before that one ends,
     * which sets this to false. Only a claim sets it to true.
     */
    waits: boolean("waits").notNull().default(false),
    /** From when it may be sent, while it is pending. */
    nextAttemptAt: time("next_attempt_at"),
    /** The claim of the worker that sends it, and until when it holds. */
    lease: text("lease"),
    leasedUntil: time("leased_until"),
    /** The host whose budget it has used: it was recovered or resent, or is a test. */
    budgetHost: text("budget_host"),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // The next delivery of all, and of each endpoint: by when it may be claimed, and then in the order in which it happened.
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
    // Whether an earlier event of the same target is pending, for an endpoint that asked for order.
    index("webhook_deliveries_order_index")
      .on(table.tenantId, table.endpointId, table.targetId, table.sequence)
      .where(sql`${table.status} = 'pending'`),
    // The next of those that wait, when an event of the same target ends.
    index("webhook_deliveries_waiting_index")
      .on(table.tenantId, table.endpointId, table.targetId, table.sequence)
      .where(sql`${table.waits}`),
    // What is open for a tenant and an endpoint.
    index("webhook_deliveries_lease_index")
      .on(table.tenantId, table.endpointId, table.leasedUntil)
      .where(sql`${table.leasedUntil} is not null`),
    // What can be recovered.
    index("webhook_deliveries_failed_index")
      .on(table.tenantId, table.endpointId, table.id)
      .where(sql`${table.status} in ('failed', 'canceled')`),
    // What waits for another attempt, and can be recovered as well.
    index("webhook_deliveries_retried_index")
      .on(table.tenantId, table.endpointId, table.id)
      .where(sql`${table.status} = 'pending' and ${table.attemptCount} > 0`),
    // Without the rows of live, which are read in the order of the primary key: a delivery has enough indexes to write.
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
