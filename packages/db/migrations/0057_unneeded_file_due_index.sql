-- no transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "unneeded_files_due_index" ON "unneeded_files" USING btree (coalesce(retry_at, created_at));
