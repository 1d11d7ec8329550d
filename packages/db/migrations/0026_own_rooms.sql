-- A call can be in a room of somebody else, and an agent can bring the avatar into a room of ours. The states of rooms become more, so
-- the rows that exist need not be read.
CREATE TABLE "brought_rooms" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"url" text NOT NULL,
	"token" "bytea" NOT NULL,
	"digest" "bytea" NOT NULL,
	"agent_identity" text NOT NULL,
	CONSTRAINT "brought_rooms_tenant_id_session_id_pk" PRIMARY KEY("tenant_id","session_id"),
	CONSTRAINT "brought_rooms_session_id_check" CHECK (octet_length("brought_rooms"."session_id") = 30 and "brought_rooms"."session_id" ~ '^ses_[0-7][0-9a-hjkmnp-tv-z]*$')
);
--> statement-breakpoint
CREATE UNIQUE INDEX "brought_rooms_digest_index" ON "brought_rooms" USING btree ("tenant_id","digest");--> statement-breakpoint
ALTER TABLE "calls" ADD COLUMN "agent_name" text,
	DROP CONSTRAINT "calls_room_check",
	ADD CONSTRAINT "calls_room_check" CHECK ("calls"."room" in ('create', 'exists', 'delete', 'gone', 'foreign')) NOT VALID;
