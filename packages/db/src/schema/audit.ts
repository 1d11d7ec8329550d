import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import { sql } from "drizzle-orm";
import { check, index, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { bytewise, inList, isId, time } from "./columns.ts";
import { tenants } from "./tenants.ts";

/**
 * The audit trail: the actor, the action, the time and the request of each change. A trigger refuses UPDATE, DELETE and
 * TRUNCATE.
 */
export const auditEvents = pgTable(
  "audit_events",
  {
    tenantId: bytewise("tenant_id")
      .notNull()
      .references(() => tenants.tenantId),
    id: bytewise("id").notNull(),
    environment: text("environment").notNull(),
    /** The key or the user that acted, or null; then the credential of the key. */
    actorId: bytewise("actor_id"),
    actorKeyId: bytewise("actor_key_id"),
    action: text("action").notNull(),
    targetId: bytewise("target_id").notNull(),
    /** Names of the fields that an update changed; never their values. */
    changedFields: text("changed_fields").array().notNull().default([]),
    requestId: text("request_id").notNull(),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // The events of a target, and the events of a credential.
    index("audit_events_target_id_index").on(table.targetId, table.tenantId, table.id),
    index("audit_events_actor_key_id_index").on(table.actorKeyId, table.tenantId, table.id),
    // The events of a key or a person as the actor.
    index("audit_events_actor_id_index").on(table.actorId, table.tenantId, table.id),
    // The list of one action, except the most frequent one, so that creating avatars does not write to this index.
    index("audit_events_action_index")
      .on(table.action, table.tenantId, table.id)
      .where(sql`${table.action} <> 'avatar.created'`),
    // The events that a test key sees, in a tenant whose events are mostly in live.
    index("audit_events_test_index")
      .on(table.environment, table.tenantId, table.id)
      .where(sql`${table.environment} <> 'live'`),
    check("audit_events_id_check", isId(table.id, "aud")),
    check("audit_events_environment_check", inList(table.environment, ENVIRONMENTS)),
    // For a person, the trail names no credential.
    check(
      "audit_events_actor_type_check",
      sql`(${table.actorKeyId} is not null) = (${table.actorId} is not null and ${table.actorId} not like 'usr\\_%')`,
    ),
  ],
);
