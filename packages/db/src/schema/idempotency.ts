/** The table of requests with an `Idempotency-Key`. */

import { sql } from "drizzle-orm";
import { check, index, integer, json, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { bytes, bytewise, time } from "./columns.ts";

/**
 * Requests with an `Idempotency-Key`, each with its response for a replay, written in the statement of its effect. For
 * now a view of the table `idempotency_keys`, because the previous release uses the old column names: see
 * `0021_column_names.sql`.
 */
export const idempotencyClaims = pgTable(
  "idempotency_claims",
  {
    tenantId: bytewise("tenant_id").notNull(),
    /** The key that called, with any of its credentials, or the user. */
    callerId: bytewise("caller_id").notNull(),
    /** The method and path of the request, as sent. */
    request: bytewise("request").notNull(),
    idempotencyKey: bytewise("idempotency_key").notNull(),
    /**
     * Identifies the attempt that stored the response: an attempt recognises its own claim. The id of its audit event, of the
     * hold entry of a session, or of the session that it changed.
     */
    attemptId: bytewise("attempt_id").notNull(),
    /** SHA-256 of the body as a JSON value. */
    bodyHash: bytes("body_hash").notNull(),
    status: integer("status").notNull(),
    location: text("location"),
    etag: text("etag").notNull(),
    responseBody: bytes("response_body").notNull(),
    /** The credential whose secret seals the response; null when the response contains no secret and is not sealed. */
    sealedFor: bytewise("sealed_for"),
    /** The fields of the response that only the write knew, such as the granted amount; null without any. */
    responseFields: json("response_fields"),
    createdAt: time("created_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.callerId, table.request, table.idempotencyKey] }),
    // The sweep of expired claims.
    index("idempotency_keys_created_at_index").on(table.createdAt),
    check("idempotency_keys_body_hash_check", sql`octet_length(${table.bodyHash}) = 32`),
    check("idempotency_keys_status_check", sql`${table.status} between 200 and 299`),
    check("idempotency_keys_idempotency_key_check", sql`char_length(${table.idempotencyKey}) between 1 and 255`),
  ],
);
