CREATE TABLE "call_turns" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"number" integer NOT NULL,
	"kind" text NOT NULL,
	"text" text,
	"instructions" text,
	"interrupts" boolean NOT NULL,
	"status" text NOT NULL,
	"heard" text,
	"generation" integer,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "call_turns_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "call_turns_id_check" CHECK (octet_length("call_turns"."id") = 30 and "call_turns"."id" ~ '^trn_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "call_turns_session_id_check" CHECK (octet_length("call_turns"."session_id") = 30 and "call_turns"."session_id" ~ '^ses_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "call_turns_kind_check" CHECK ("call_turns"."kind" in ('say', 'answer', 'interrupt')),
	CONSTRAINT "call_turns_text_check" CHECK (char_length("call_turns"."text") between 1 and 4000),
	CONSTRAINT "call_turns_instructions_check" CHECK (char_length("call_turns"."instructions") between 1 and 2000),
	CONSTRAINT "call_turns_status_check" CHECK ("call_turns"."status" in ('queued', 'speaking', 'said', 'interrupted', 'failed', 'dropped')),
	CONSTRAINT "call_turns_heard_check" CHECK (char_length("call_turns"."heard") between 0 and 4000),
	CONSTRAINT "call_turns_ended_check" CHECK (("call_turns"."ended_at" is null) = ("call_turns"."status" in ('queued', 'speaking')) and ("call_turns"."ended_at" is null or num_nonnulls("call_turns"."text", "call_turns"."instructions") = 0)),
	CONSTRAINT "call_turns_version_check" CHECK ("call_turns"."version" >= 1)
);
--> statement-breakpoint
CREATE INDEX "call_turns_open_index" ON "call_turns" USING btree ("session_id","tenant_id","number") WHERE "call_turns"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "call_turns_ended_index" ON "call_turns" USING btree ("ended_at") WHERE "call_turns"."ended_at" is not null;