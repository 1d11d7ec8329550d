-- The agents of open calls. A room can be foreign: the states of rooms become more, so the rows that exist need not be read.
CREATE TABLE "call_agents" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"url" text,
	"token" "bytea",
	"digest" "bytea",
	"identity" text,
	CONSTRAINT "call_agents_tenant_id_session_id_pk" PRIMARY KEY("tenant_id","session_id"),
	CONSTRAINT "call_agents_session_id_check" CHECK (octet_length("call_agents"."session_id") = 30 and "call_agents"."session_id" ~ '^ses_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "call_agents_brought_check" CHECK (num_nulls("call_agents"."url", "call_agents"."token", "call_agents"."digest", "call_agents"."identity") in (0, 4))
);
--> statement-breakpoint
CREATE UNIQUE INDEX "call_agents_digest_index" ON "call_agents" USING btree ("tenant_id","digest");--> statement-breakpoint
ALTER TABLE "calls" DROP CONSTRAINT "calls_room_check",
	ADD CONSTRAINT "calls_room_check" CHECK ("calls"."room" in ('create', 'exists', 'delete', 'gone', 'foreign')) NOT VALID;
