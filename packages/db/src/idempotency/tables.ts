/** The table of requests with an `Idempotency-Key`. */

import { sql } from "drizzle-orm";
import { check, index, integer, json, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { bytes, bytewise, time } from "../query/columns.ts";

/** Requests with an `Idempotency-Key`, each with its response for a replay, written in the statement of its effect. */
export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    tenantId: bytewise("tenant_id").notNull(),
    /** The key that called, with any of its credentials, or the user. */
    apiKeyId: bytewise("api_key_id").notNull(),
    /** Method and path, as they were sent. */
    request: bytewise("request").notNull(),
    idempotencyKey: bytewise("idempotency_key").notNull(),
    /** Id of the audit event of the attempt that stored the response: by it an attempt recognises its own claim. */
    auditEventId: bytewise("audit_event_id").notNull(),
    /** SHA-256 of the body as a JSON value. */
    bodyHash: bytes("body_hash").notNull(),
    status: integer("status").notNull(),
    location: text("location"),
    etag: text("etag").notNull(),
    answer: bytes("answer").notNull(),
    /** The credential with whose secret the response is sealed; null when it contains no secret and is not sealed. */
    sealedFor: bytewise("sealed_for"),
    /** The fields of the response that only the write knew, such as the amount that was granted; null when there are none. */
    figures: json("figures"),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.apiKeyId, table.request, table.idempotencyKey] }),
    // The sweep of those that have had their day.
    index("idempotency_keys_created_at_index").on(table.createdAt),
    check("idempotency_keys_body_hash_check", sql`octet_length(${table.bodyHash}) = 32`),
    check("idempotency_keys_status_check", sql`${table.status} between 200 and 299`),
    check("idempotency_keys_idempotency_key_check", sql`char_length(${table.idempotencyKey}) between 1 and 255`),
  ],
);
