-- no transaction
-- A call can be in a room of somebody else, and an agent can bring the avatar into a room of ours. The columns are empty for the calls
-- that exist, and the states of rooms become more: nothing has to be read. Repeated, the first statement does the same again.
ALTER TABLE "calls" ADD COLUMN IF NOT EXISTS "agent_name" text,
	ADD COLUMN IF NOT EXISTS "join_url" text,
	ADD COLUMN IF NOT EXISTS "join_token" "bytea",
	ADD COLUMN IF NOT EXISTS "token_digest" "bytea",
	ADD COLUMN IF NOT EXISTS "agent_identity" text,
	DROP CONSTRAINT IF EXISTS "calls_brought_check",
	DROP CONSTRAINT IF EXISTS "calls_room_check",
	ADD CONSTRAINT "calls_brought_check" CHECK (num_nulls("calls"."join_url", "calls"."join_token", "calls"."token_digest", "calls"."agent_identity") in (0, 4)) NOT VALID,
	ADD CONSTRAINT "calls_room_check" CHECK ("calls"."room" in ('create', 'exists', 'delete', 'gone', 'foreign')) NOT VALID;--> statement-breakpoint
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "calls_token_digest_index" ON "calls" USING btree ("tenant_id","token_digest") WHERE "calls"."token_digest" is not null;
