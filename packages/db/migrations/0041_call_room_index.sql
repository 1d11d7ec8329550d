-- no transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "calls_resumed_index" ON "calls" USING btree ("tenant_id","session_id") WHERE "calls"."room_number" > 1 and "calls"."room" in ('create', 'exists');
