-- no transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "calls_history_index" ON "calls" USING btree ("tenant_id","session_id") WHERE "calls"."has_history";
