CREATE TABLE "videos" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"avatar_id" text COLLATE "C" NOT NULL,
	"text" text,
	"audio_asset_id" text COLLATE "C",
	"voice_id" text,
	"status" text NOT NULL,
	"progress" real DEFAULT 0 NOT NULL,
	"asset_id" text COLLATE "C",
	"duration_ms" integer,
	"billed_seconds" bigint,
	"billed_credit_micros" bigint,
	"reserved_credit_micros" bigint NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"api_key_id" text COLLATE "C" NOT NULL,
	"error_code" text,
	"error_detail" text,
	"warnings" text[] DEFAULT '{}' NOT NULL,
	"metadata" json NOT NULL,
	"version" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "videos_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "videos_id_check" CHECK (octet_length("videos"."id") = 30 and "videos"."id" ~ '^vid_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "videos_environment_check" CHECK ("videos"."environment" in ('live', 'test')),
	CONSTRAINT "videos_status_check" CHECK ("videos"."status" in ('queued', 'rendering', 'ready', 'failed', 'canceled', 'deleted')),
	CONSTRAINT "videos_text_check" CHECK (char_length("videos"."text") between 1 and 5000),
	CONSTRAINT "videos_sound_check" CHECK (num_nonnulls("videos"."text", "videos"."audio_asset_id") = 1 or "videos"."status" = 'deleted'),
	CONSTRAINT "videos_voice_id_check" CHECK (char_length("videos"."voice_id") between 8 and 160),
	CONSTRAINT "videos_progress_check" CHECK ("videos"."progress" between 0 and 1),
	CONSTRAINT "videos_ready_check" CHECK ("videos"."status" <> 'ready' or num_nulls("videos"."asset_id", "videos"."duration_ms") = 0),
	CONSTRAINT "videos_duration_ms_check" CHECK ("videos"."duration_ms" >= 0),
	CONSTRAINT "videos_billed_check" CHECK ("videos"."billed_credit_micros" between 0 and "videos"."reserved_credit_micros" and ("videos"."billed_seconds" is null) = ("videos"."billed_credit_micros" is null) and ("videos"."status" in ('queued', 'rendering')) = ("videos"."billed_seconds" is null)),
	CONSTRAINT "videos_error_code_check" CHECK (char_length("videos"."error_code") between 1 and 64),
	CONSTRAINT "videos_error_detail_check" CHECK (char_length("videos"."error_detail") between 1 and 500),
	CONSTRAINT "videos_failed_check" CHECK (("videos"."error_code" is null) = ("videos"."error_detail" is null) and ("videos"."status" <> 'failed' or "videos"."error_code" is not null)),
	CONSTRAINT "videos_warnings_check" CHECK (cardinality("videos"."warnings") <= 16),
	CONSTRAINT "videos_metadata_check" CHECK (json_typeof("videos"."metadata") = 'object' and octet_length("videos"."metadata"::text) <= 32768),
	CONSTRAINT "videos_version_check" CHECK ("videos"."version" >= 1)
);
--> statement-breakpoint
ALTER TABLE "videos" ADD CONSTRAINT "videos_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "videos_newest_index" ON "videos" USING btree ("environment","tenant_id","id") WHERE "videos"."status" <> 'deleted';--> statement-breakpoint
CREATE INDEX "videos_list_index" ON "videos" USING btree ("environment","tenant_id","status","id");--> statement-breakpoint
CREATE INDEX "videos_avatar_index" ON "videos" USING btree ("environment","tenant_id","avatar_id","id");--> statement-breakpoint
CREATE INDEX "videos_running_index" ON "videos" USING btree ("environment","tenant_id") WHERE "videos"."status" in ('queued', 'rendering');--> statement-breakpoint
CREATE INDEX "videos_waiting_index" ON "videos" USING btree ("created_at") WHERE "videos"."status" in ('queued', 'rendering');--> statement-breakpoint
ALTER TABLE "assets" ADD COLUMN "origin" text;--> statement-breakpoint
ALTER TABLE "assets" ADD COLUMN "duration_ms" integer;--> statement-breakpoint
ALTER TABLE "assets" ADD CONSTRAINT "assets_origin_check" CHECK ("assets"."origin" in ('uploaded', 'imported', 'generated')) NOT VALID;--> statement-breakpoint
ALTER TABLE "assets" ADD CONSTRAINT "assets_duration_ms_check" CHECK ("assets"."duration_ms" >= 0) NOT VALID;--> statement-breakpoint
ALTER TABLE "jobs" DROP CONSTRAINT "jobs_kind_check";--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_kind_check" CHECK ("jobs"."kind" in ('process_asset', 'prepare_avatar', 'render_video')) NOT VALID;--> statement-breakpoint
ALTER TABLE "usage_sessions" ADD COLUMN "video_id" text COLLATE "C";--> statement-breakpoint
-- The session of a video is never counted as open: a video takes the place of no call. A function of an earlier version that reports
-- or ends it leaves it so.
DROP TRIGGER "usage_sessions_count" ON "usage_sessions";--> statement-breakpoint
CREATE TRIGGER usage_sessions_count BEFORE INSERT OR UPDATE ON usage_sessions
  FOR EACH ROW WHEN (NEW.is_counted <> (NEW.ended_at IS NULL) AND NEW.video_id IS NULL) EXECUTE FUNCTION count_usage_session();
