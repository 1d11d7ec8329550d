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
  uniqueIndex,
} from "drizzle-orm/pg-core";
import { bytes, bytewise, isId, length, oneOf, time } from "../query/columns.ts";
import { tenants } from "../tenants/tables.ts";

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
    /** When its deliveries were claimed last: the tenant that was served longest ago is served next. */
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
    check("webhook_endpoints_id_check", isId(table.id, "whe")),
    check("webhook_endpoints_environment_check", oneOf(table.environment, ENVIRONMENTS)),
    check("webhook_endpoints_url_check", length(table.url, bounds.url.anyOf[0])),
    check("webhook_endpoints_description_check", length(table.description, bounds.description.anyOf[0])),
    check("webhook_endpoints_events_check", sql`cardinality(${table.events}) between 1 and 64`),
    check("webhook_endpoints_status_check", oneOf(table.status, ENDPOINT_STATUSES)),
    check("webhook_endpoints_disabled_reason_check", oneOf(table.disabledReason, DISABLED_REASONS)),
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

/** What has happened, once for all endpoints. Written with the change, by `emit_events`. */
export const webhookEvents = pgTable(
  "webhook_events",
  {
    tenantId: tenantId(),
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
    check("webhook_events_id_check", isId(table.id, "evt")),
    check("webhook_events_environment_check", oneOf(table.environment, ENVIRONMENTS)),
    check("webhook_events_sequence_check", sql`${table.sequence} >= 1`),
  ],
);

/** An event for an endpoint. */
export const webhookDeliveries = pgTable(
  "webhook_deliveries",
  {
    tenantId: tenantId(),
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
    /** From when it may be sent, while it is pending. */
    nextAttemptAt: time("next_attempt_at"),
    /** The claim of the worker that sends it, and until when it holds. */
    lease: text("lease"),
    leasedUntil: time("leased_until"),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // The next delivery of all, and of each endpoint: by when it may be claimed.
    index("webhook_deliveries_due_index")
      .on(sql`coalesce(leased_until, next_attempt_at)`)
      .where(sql`${table.status} = 'pending'`),
    index("webhook_deliveries_endpoint_due_index")
      .on(table.tenantId, table.endpointId, sql`coalesce(leased_until, next_attempt_at)`)
      .where(sql`${table.status} = 'pending'`),
    // Whether an earlier event of the same target is pending for an endpoint that asked for order.
    index("webhook_deliveries_order_index")
      .on(table.tenantId, table.endpointId, table.targetId, table.sequence)
      .where(sql`${table.status} = 'pending'`),
    index("webhook_deliveries_list_index").on(table.environment, table.tenantId, table.id),
    check("webhook_deliveries_id_check", isId(table.id, "whd")),
    check("webhook_deliveries_environment_check", oneOf(table.environment, ENVIRONMENTS)),
    check("webhook_deliveries_status_check", oneOf(table.status, DELIVERY_STATUSES)),
    check("webhook_deliveries_due_check", sql`(${table.nextAttemptAt} is not null) = (${table.status} = 'pending')`),
    check("webhook_deliveries_lease_check", sql`(${table.lease} is null) = (${table.leasedUntil} is null)`),
    check("webhook_deliveries_attempt_count_check", sql`${table.attemptCount} >= 0`),
  ],
);
