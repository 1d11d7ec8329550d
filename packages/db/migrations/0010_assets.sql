CREATE TABLE "asset_meters" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"assets" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	CONSTRAINT "asset_meters_tenant_id_environment_pk" PRIMARY KEY("tenant_id","environment"),
	CONSTRAINT "asset_meters_environment_check" CHECK ("asset_meters"."environment" in ('live', 'test')),
	CONSTRAINT "asset_meters_counters_check" CHECK ("asset_meters"."assets" >= 0 and "asset_meters"."bytes" >= 0)
);
--> statement-breakpoint
CREATE TABLE "assets" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"kind" text NOT NULL,
	"status" text NOT NULL,
	"content_type" text,
	"size_bytes" bigint,
	"sha256" text,
	"public_token" text COLLATE "C" NOT NULL,
	"public_type" text,
	"remote_url" text,
	"reserved_bytes" bigint NOT NULL,
	"error_code" text,
	"error_detail" text,
	"original_filename" text,
	"metadata" json NOT NULL,
	"version" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "assets_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "assets_id_check" CHECK (octet_length("assets"."id") = 30 and "assets"."id" ~ '^ast_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "assets_environment_check" CHECK ("assets"."environment" in ('live', 'test')),
	CONSTRAINT "assets_kind_check" CHECK ("assets"."kind" in ('image', 'video', 'audio')),
	CONSTRAINT "assets_status_check" CHECK ("assets"."status" in ('pending_upload', 'uploaded', 'processing', 'ready', 'failed', 'deleted')),
	CONSTRAINT "assets_content_type_check" CHECK (char_length("assets"."content_type") between 1 and 64),
	CONSTRAINT "assets_size_bytes_check" CHECK ("assets"."size_bytes" between 0 and 9007199254740991),
	CONSTRAINT "assets_sha256_check" CHECK (octet_length("assets"."sha256") = 64 and "assets"."sha256" ~ '^[0-9a-f]*$'),
	CONSTRAINT "assets_public_token_check" CHECK (octet_length("assets"."public_token") = 43 and "assets"."public_token" ~ '^[A-Za-z0-9_-]*$'),
	CONSTRAINT "assets_public_type_check" CHECK (char_length("assets"."public_type") between 1 and 64),
	CONSTRAINT "assets_remote_url_check" CHECK (char_length("assets"."remote_url") between 1 and 2048),
	CONSTRAINT "assets_reserved_bytes_check" CHECK ("assets"."reserved_bytes" between 0 and 9007199254740991),
	CONSTRAINT "assets_error_code_check" CHECK (char_length("assets"."error_code") between 1 and 64),
	CONSTRAINT "assets_error_detail_check" CHECK (char_length("assets"."error_detail") between 1 and 500),
	CONSTRAINT "assets_failed_check" CHECK (("assets"."status" = 'failed') = ("assets"."error_code" is not null) and ("assets"."error_code" is null) = ("assets"."error_detail" is null)),
	CONSTRAINT "assets_ready_check" CHECK ("assets"."status" <> 'ready' or ("assets"."content_type" is not null and "assets"."size_bytes" is not null and "assets"."sha256" is not null)),
	CONSTRAINT "assets_original_filename_check" CHECK (char_length("assets"."original_filename") between 1 and 240),
	CONSTRAINT "assets_metadata_check" CHECK (json_typeof("assets"."metadata") = 'object' and octet_length("assets"."metadata"::text) <= 32768),
	CONSTRAINT "assets_version_check" CHECK ("assets"."version" >= 1)
);
--> statement-breakpoint
CREATE TABLE "job_slots" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"slot" integer NOT NULL,
	"job_id" text COLLATE "C",
	"lease" text,
	"leased_until" timestamp (3) with time zone,
	"started_at" timestamp (3) with time zone,
	CONSTRAINT "job_slots_tenant_id_slot_pk" PRIMARY KEY("tenant_id","slot"),
	CONSTRAINT "job_slots_slot_check" CHECK ("job_slots"."slot" >= 1)
);
--> statement-breakpoint
CREATE TABLE "jobs" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"kind" text NOT NULL,
	"target_id" text COLLATE "C" NOT NULL,
	"generation" integer NOT NULL,
	"run_at" timestamp (3) with time zone NOT NULL,
	"leased_until" timestamp (3) with time zone,
	"lease" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"last_error" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "jobs_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "jobs_id_check" CHECK (octet_length("jobs"."id") = 30 and "jobs"."id" ~ '^job_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "jobs_environment_check" CHECK ("jobs"."environment" in ('live', 'test')),
	CONSTRAINT "jobs_kind_check" CHECK ("jobs"."kind" in ('process_asset')),
	CONSTRAINT "jobs_generation_check" CHECK ("jobs"."generation" >= 1),
	CONSTRAINT "jobs_lease_check" CHECK (("jobs"."lease" is null) = ("jobs"."leased_until" is null)),
	CONSTRAINT "jobs_attempts_check" CHECK ("jobs"."attempts" >= 0),
	CONSTRAINT "jobs_last_error_check" CHECK (char_length("jobs"."last_error") <= 500)
);
--> statement-breakpoint
ALTER TABLE "asset_meters" ADD CONSTRAINT "asset_meters_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "assets" ADD CONSTRAINT "assets_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "job_slots" ADD CONSTRAINT "job_slots_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "assets_newest_index" ON "assets" USING btree ("environment","tenant_id","id") WHERE "assets"."status" <> 'deleted';--> statement-breakpoint
CREATE INDEX "assets_list_index" ON "assets" USING btree ("environment","tenant_id","status","kind","id");--> statement-breakpoint
CREATE INDEX "assets_public_token_index" ON "assets" USING btree ("public_token") WHERE "assets"."status" = 'ready' and "assets"."public_type" is not null;--> statement-breakpoint
CREATE INDEX "assets_pending_upload_index" ON "assets" USING btree ("created_at") WHERE "assets"."status" = 'pending_upload' and "assets"."remote_url" is null;--> statement-breakpoint
CREATE INDEX "job_slots_started_at_index" ON "job_slots" USING btree ("started_at");--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_target_index" ON "jobs" USING btree ("tenant_id","target_id","kind","generation");--> statement-breakpoint
CREATE INDEX "jobs_tenant_available_index" ON "jobs" USING btree ("tenant_id",coalesce(leased_until, run_at));--> statement-breakpoint
CREATE INDEX "jobs_available_index" ON "jobs" USING btree (coalesce(leased_until, run_at));--> statement-breakpoint
-- Counters are updated in place: half of each page is left free, so that an update stays on its page (HOT).
ALTER TABLE "asset_meters" SET (fillfactor = 50);
