CREATE TABLE "tenant_settings" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"keeps_transcripts" boolean NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "tenant_settings_tenant_id_environment_pk" PRIMARY KEY("tenant_id","environment"),
	CONSTRAINT "tenant_settings_tenant_id_check" CHECK (octet_length("tenant_settings"."tenant_id") = 30 and "tenant_settings"."tenant_id" ~ '^ten_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "tenant_settings_environment_check" CHECK ("tenant_settings"."environment" in ('live', 'test'))
);
--> statement-breakpoint
ALTER TABLE "call_transcripts" ALTER COLUMN "receiver" DROP NOT NULL;
--> statement-breakpoint
ALTER TABLE "call_transcripts" ALTER COLUMN "due_at" DROP NOT NULL;
--> statement-breakpoint
ALTER TABLE "call_transcripts" ADD COLUMN "is_kept" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
ALTER TABLE "call_transcripts" ADD COLUMN "ended_at" timestamp (3) with time zone;
