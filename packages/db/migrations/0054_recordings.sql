CREATE TABLE "call_recordings" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"mode" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"size_bytes" bigint DEFAULT 0 NOT NULL,
	"fragment_count" integer DEFAULT 0 NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"worker_id" text COLLATE "C",
	"due_at" timestamp (3) with time zone NOT NULL,
	"lease" text,
	"leased_until" timestamp (3) with time zone,
	"attempt_count" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "call_recordings_tenant_id_session_id_pk" PRIMARY KEY("tenant_id","session_id"),
	CONSTRAINT "call_recordings_session_id_check" CHECK (octet_length("call_recordings"."session_id") = 30 and "call_recordings"."session_id" ~ '^ses_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "call_recordings_mode_check" CHECK ("call_recordings"."mode" in ('audio', 'audio_video', 'participants')),
	CONSTRAINT "call_recordings_lease_check" CHECK (("call_recordings"."lease" is null) = ("call_recordings"."leased_until" is null))
);
--> statement-breakpoint
CREATE TABLE "recording_fragments" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"generation" integer NOT NULL,
	"n" integer NOT NULL,
	"worker_id" text COLLATE "C" NOT NULL,
	"size_bytes" integer NOT NULL,
	CONSTRAINT "recording_fragments_tenant_id_session_id_generation_n_pk" PRIMARY KEY("tenant_id","session_id","generation","n"),
	CONSTRAINT "recording_fragments_session_id_check" CHECK (octet_length("recording_fragments"."session_id") = 30 and "recording_fragments"."session_id" ~ '^ses_[0-7][0-9a-hjkmnp-tv-z]*$')
);
--> statement-breakpoint
CREATE TABLE "recordings" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"mode" text NOT NULL,
	"role" text,
	"status" text NOT NULL,
	"key" text,
	"size_bytes" bigint,
	"duration_ms" integer,
	"media_started_at" timestamp (3) with time zone,
	"media_ended_at" timestamp (3) with time zone,
	"error_code" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"retained_until" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "recordings_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "recordings_id_check" CHECK (octet_length("recordings"."id") = 30 and "recordings"."id" ~ '^rec_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "recordings_environment_check" CHECK ("recordings"."environment" in ('live', 'test')),
	CONSTRAINT "recordings_session_id_check" CHECK (octet_length("recordings"."session_id") = 30 and "recordings"."session_id" ~ '^ses_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "recordings_mode_check" CHECK ("recordings"."mode" in ('audio', 'audio_video')),
	CONSTRAINT "recordings_role_check" CHECK ("recordings"."role" in ('user', 'avatar')),
	CONSTRAINT "recordings_status_check" CHECK ("recordings"."status" in ('pending', 'recording', 'processing', 'ready', 'failed', 'expired')),
	CONSTRAINT "recordings_error_code_check" CHECK ("recordings"."error_code" in ('recording_failed', 'recording_unavailable')),
	CONSTRAINT "recordings_file_check" CHECK (case when "recordings"."status" = 'ready' then num_nulls("recordings"."key", "recordings"."size_bytes", "recordings"."duration_ms", "recordings"."media_started_at", "recordings"."media_ended_at", "recordings"."ended_at") = 0 else num_nonnulls("recordings"."key", "recordings"."size_bytes", "recordings"."duration_ms") = 0 end),
	CONSTRAINT "recordings_failed_check" CHECK (("recordings"."error_code" is null) = ("recordings"."status" <> 'failed')),
	CONSTRAINT "recordings_size_bytes_check" CHECK ("recordings"."size_bytes" >= 1),
	CONSTRAINT "recordings_duration_ms_check" CHECK ("recordings"."duration_ms" >= 0)
);
--> statement-breakpoint
CREATE TABLE "unneeded_files" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"key" text COLLATE "C" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "unneeded_files_tenant_id_key_pk" PRIMARY KEY("tenant_id","key")
);
--> statement-breakpoint
CREATE INDEX "call_recordings_session_index" ON "call_recordings" USING btree ("session_id","tenant_id");--> statement-breakpoint
CREATE INDEX "call_recordings_due_index" ON "call_recordings" USING btree (coalesce(leased_until, due_at));--> statement-breakpoint
CREATE INDEX "call_recordings_queue_index" ON "call_recordings" USING btree ("tenant_id",coalesce(leased_until, due_at)) WHERE "call_recordings"."attempt_count" >= 0;--> statement-breakpoint
CREATE INDEX "recordings_newest_index" ON "recordings" USING btree ("environment","tenant_id","id");--> statement-breakpoint
CREATE INDEX "recordings_session_index" ON "recordings" USING btree ("session_id","tenant_id","id");--> statement-breakpoint
CREATE INDEX "recordings_kept_index" ON "recordings" USING btree ("retained_until") WHERE "recordings"."status" in ('ready', 'failed');--> statement-breakpoint
CREATE INDEX "recordings_expired_index" ON "recordings" USING btree ("retained_until") WHERE "recordings"."status" = 'expired';--> statement-breakpoint
CREATE INDEX "recordings_size_index" ON "recordings" USING btree ("size_bytes") WHERE "recordings"."status" = 'ready';--> statement-breakpoint
CREATE INDEX "unneeded_files_age_index" ON "unneeded_files" USING btree ("created_at");