CREATE TABLE "call_segments" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"generation" integer NOT NULL,
	"n" integer NOT NULL,
	"segment" "bytea" NOT NULL,
	CONSTRAINT "call_segments_tenant_id_session_id_generation_n_pk" PRIMARY KEY("tenant_id","session_id","generation","n"),
	CONSTRAINT "call_segments_session_id_check" CHECK (octet_length("call_segments"."session_id") = 30 and "call_segments"."session_id" ~ '^ses_[0-7][0-9a-hjkmnp-tv-z]*$')
);
--> statement-breakpoint
CREATE TABLE "call_transcripts" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"receiver" "bytea" NOT NULL,
	"size_bytes" integer DEFAULT 0 NOT NULL,
	"is_truncated" boolean DEFAULT false NOT NULL,
	"is_complete" boolean DEFAULT false NOT NULL,
	"worker_id" text COLLATE "C",
	"due_at" timestamp (3) with time zone NOT NULL,
	"lease" text,
	"leased_until" timestamp (3) with time zone,
	"attempt_count" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "call_transcripts_tenant_id_session_id_pk" PRIMARY KEY("tenant_id","session_id"),
	CONSTRAINT "call_transcripts_session_id_check" CHECK (octet_length("call_transcripts"."session_id") = 30 and "call_transcripts"."session_id" ~ '^ses_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "call_transcripts_lease_check" CHECK (("call_transcripts"."lease" is null) = ("call_transcripts"."leased_until" is null))
);
--> statement-breakpoint
CREATE INDEX "call_transcripts_due_index" ON "call_transcripts" USING btree (coalesce(leased_until, due_at));--> statement-breakpoint
CREATE INDEX "call_transcripts_tenant_due_index" ON "call_transcripts" USING btree ("tenant_id",coalesce(leased_until, due_at)) WHERE "call_transcripts"."attempt_count" >= 0;--> statement-breakpoint
CREATE INDEX "call_transcripts_waiting_index" ON "call_transcripts" USING btree ("tenant_id") WHERE "call_transcripts"."attempt_count" > 0;