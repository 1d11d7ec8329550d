-- no transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "call_transcripts_queue_index" ON "call_transcripts" USING btree ("tenant_id",coalesce(leased_until, due_at)) WHERE "call_transcripts"."due_at" is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "call_transcripts_kept_index" ON "call_transcripts" USING btree ("ended_at") WHERE "call_transcripts"."is_kept" and "call_transcripts"."ended_at" is not null;
--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "call_transcripts_tenant_due_index";
