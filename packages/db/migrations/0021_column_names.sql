-- The names of two tables say what they hold. The release before uses the old names, and its functions the row type of the old
-- table (`requests_to_admit`): renamed, they would fail with 42804. So the new names are views of the tables, which PostgreSQL
-- updates as the tables themselves. When the release before this one runs nowhere any more, a migration drops the views and
-- renames the tables and their columns. `ctid` is for the sweeps.
CREATE VIEW "idempotency_claims" AS SELECT
  "tenant_id", "api_key_id" AS "caller_id", "request", "idempotency_key", "audit_event_id" AS "attempt_id", "body_hash", "status",
  "location", "etag", "answer" AS "response_body", "sealed_for", "created_at", "figures" AS "response_fields", "ctid"
FROM "idempotency_keys";--> statement-breakpoint
CREATE VIEW "pending_changes" AS SELECT "tenant_id", "api_key_id" AS "subject_id", "announced_at", "ctid"
FROM "api_key_pending_changes";
