-- no transaction
-- Partial as those that they replace: the statements of an earlier version, which compare `expires_at`, then read the open sessions
-- of a tenant instead of the overdue ones.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "usage_sessions_sweep_index" ON "usage_sessions" USING btree ("sweep_at") WHERE "usage_sessions"."ended_at" is null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "usage_sessions_tenant_sweep_index" ON "usage_sessions" USING btree ("tenant_id","sweep_at") WHERE "usage_sessions"."ended_at" is null;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "usage_sessions_overdue_index";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "usage_sessions_tenant_overdue_index";
