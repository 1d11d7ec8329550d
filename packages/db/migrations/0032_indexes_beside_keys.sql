-- no transaction
-- These replace indexes that the server can use to find a row by its id: they begin with the tenant, and the estimated costs equal
-- those of the primary key when most tenants have one row. Then it reads all rows of a large tenant. The invitations that name a user
-- had no index.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "call_agents_token_index" ON "call_agents" USING btree ("tenant_id","digest") WHERE "call_agents"."digest" is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "invitations_creator_index" ON "invitations" USING btree ("created_by","tenant_id","id") WHERE "invitations"."created_by" is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "invitations_user_index" ON "invitations" USING btree ("user_id","tenant_id","id") WHERE "invitations"."user_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "jobs_of_target_index" ON "jobs" USING btree ("tenant_id","target_id","kind","generation") WHERE "jobs"."target_id" is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "jobs_tenant_due_index" ON "jobs" USING btree ("tenant_id",coalesce(leased_until, run_at)) WHERE "jobs"."attempts" >= 0;--> statement-breakpoint
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "passkeys_credential_index" ON "passkeys" USING btree ("tenant_id","credential_id") WHERE "passkeys"."credential_id" is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "passkeys_user_index" ON "passkeys" USING btree ("user_id","tenant_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "user_identities_account_index" ON "user_identities" USING btree ("tenant_id","issuer","subject") WHERE "user_identities"."subject" is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "user_identities_user_index" ON "user_identities" USING btree ("user_id","tenant_id","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "user_sessions_user_index" ON "user_sessions" USING btree ("user_id","tenant_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "users_address_index" ON "users" USING btree ("tenant_id","email") WHERE "users"."email" is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "users_owners_index" ON "users" USING btree ("tenant_id","id") WHERE "users"."role" = 'owner';--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "call_agents_digest_index";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "jobs_target_index";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "jobs_tenant_available_index";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "passkeys_credential_id_index";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "passkeys_user_id_index";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "user_identities_subject_index";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "user_identities_user_id_index";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "user_sessions_user_id_index";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "users_email_index";
