-- no transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "assets_generated_index" ON "assets" USING btree ("created_at") WHERE "assets"."status" = 'ready' and "assets"."origin" = 'generated';
