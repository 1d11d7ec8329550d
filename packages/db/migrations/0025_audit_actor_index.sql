-- no transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "audit_events_actor_id_index" ON "audit_events" USING btree ("actor_id","tenant_id","id");