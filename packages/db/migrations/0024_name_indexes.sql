-- no transaction
-- The lists of keys and avatars are searched by name: see `search.ts`. Both extensions are trusted: the owner of the database may
-- create them.
CREATE EXTENSION IF NOT EXISTS "pg_trgm";--> statement-breakpoint
CREATE EXTENSION IF NOT EXISTS "btree_gin";--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "api_keys_name_index" ON "api_keys" USING gin (("tenant_id" || ''),lower("name" collate "C") gin_trgm_ops) WITH (gin_pending_list_limit=1024);--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "api_keys_name_sample_index" ON "api_keys" USING btree ("tenant_id","id","name") WHERE (hashtext("api_keys"."id") & 1023) = 0;--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "avatars_name_index" ON "avatars" USING gin (("tenant_id" || ''),lower("display_name" collate "C") gin_trgm_ops) WITH (gin_pending_list_limit=1024);--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "avatars_name_sample_index" ON "avatars" USING btree ("tenant_id","id","display_name") WHERE (hashtext("avatars"."id") & 1023) = 0;
