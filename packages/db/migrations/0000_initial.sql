CREATE TABLE "api_key_credentials" (
	"key_id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"tenant_id" text COLLATE "C" NOT NULL,
	"api_key_id" text COLLATE "C" NOT NULL,
	"digest" "bytea" NOT NULL,
	"retired_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "api_key_credentials_key_id_check" CHECK ("api_key_credentials"."key_id" ~ '^[0-9A-Za-z]{16}$'),
	CONSTRAINT "api_key_credentials_digest_check" CHECK (octet_length("api_key_credentials"."digest") = 32)
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"key_id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"name" text NOT NULL,
	"scopes" text[] NOT NULL,
	"spend_limit_credit_micros" bigint,
	"expires_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	"lineage" text[] NOT NULL,
	"version" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "api_keys_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "api_keys_id_check" CHECK ("api_keys"."id" ~ '^key_[0-7][0-9a-hjkmnp-tv-z]{25}$'),
	CONSTRAINT "api_keys_key_id_check" CHECK ("api_keys"."key_id" ~ '^[0-9A-Za-z]{16}$'),
	CONSTRAINT "api_keys_environment_check" CHECK ("api_keys"."environment" in ('live', 'test')),
	CONSTRAINT "api_keys_name_check" CHECK (char_length("api_keys"."name") between 1 and 120),
	CONSTRAINT "api_keys_scopes_check" CHECK (cardinality("api_keys"."scopes") between 1 and 16 and "api_keys"."scopes" <@ array['*', 'api_keys:write', 'credits:read', 'avatars:read', 'avatars:write', 'realtime:write', 'usage:read', 'usage:write'] and array_position("api_keys"."scopes", null) is null),
	CONSTRAINT "api_keys_spend_limit_credit_micros_check" CHECK ("api_keys"."spend_limit_credit_micros" between 0 and 9007199254740991),
	CONSTRAINT "api_keys_lineage_check" CHECK (cardinality("api_keys"."lineage") <= 8 and array_position("api_keys"."lineage", null) is null and not "api_keys"."id" = any("api_keys"."lineage" collate "C")),
	CONSTRAINT "api_keys_version_check" CHECK ("api_keys"."version" >= 1)
);
--> statement-breakpoint
CREATE TABLE "audit_events" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"actor_id" text COLLATE "C",
	"actor_key_id" text COLLATE "C",
	"action" text NOT NULL,
	"target_id" text COLLATE "C" NOT NULL,
	"request_id" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "audit_events_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "audit_events_id_check" CHECK ("audit_events"."id" ~ '^aud_[0-7][0-9a-hjkmnp-tv-z]{25}$'),
	CONSTRAINT "audit_events_environment_check" CHECK ("audit_events"."environment" in ('live', 'test')),
	CONSTRAINT "audit_events_actor_check" CHECK (("audit_events"."actor_id" is null) = ("audit_events"."actor_key_id" is null))
);
--> statement-breakpoint
CREATE TABLE "avatars" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"display_name" text NOT NULL,
	"source_kind" text NOT NULL,
	"model_id" text NOT NULL,
	"status" text NOT NULL,
	"source_asset_id" text,
	"default_voice_id" text,
	"cache_manifest_id" text,
	"cache_version" bigint NOT NULL,
	"settings" json NOT NULL,
	"metadata" json NOT NULL,
	"version" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "avatars_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "avatars_id_check" CHECK ("avatars"."id" ~ '^ava_[0-7][0-9a-hjkmnp-tv-z]{25}$'),
	CONSTRAINT "avatars_environment_check" CHECK ("avatars"."environment" in ('live', 'test')),
	CONSTRAINT "avatars_display_name_check" CHECK (char_length("avatars"."display_name") between 1 and 160),
	CONSTRAINT "avatars_source_kind_check" CHECK ("avatars"."source_kind" in ('image', 'video')),
	CONSTRAINT "avatars_model_id_check" CHECK (char_length("avatars"."model_id") between 1 and 160),
	CONSTRAINT "avatars_status_check" CHECK ("avatars"."status" in ('draft', 'preprocessing', 'ready', 'failed', 'disabled', 'deleted')),
	CONSTRAINT "avatars_source_asset_id_check" CHECK (char_length("avatars"."source_asset_id") between 1 and 160),
	CONSTRAINT "avatars_default_voice_id_check" CHECK (char_length("avatars"."default_voice_id") between 8 and 160),
	CONSTRAINT "avatars_cache_manifest_id_check" CHECK (char_length("avatars"."cache_manifest_id") between 1 and 160),
	CONSTRAINT "avatars_cache_version_check" CHECK ("avatars"."cache_version" >= 0),
	CONSTRAINT "avatars_settings_check" CHECK (json_typeof("avatars"."settings") = 'object' and octet_length("avatars"."settings"::text) <= 32768),
	CONSTRAINT "avatars_metadata_check" CHECK (json_typeof("avatars"."metadata") = 'object' and octet_length("avatars"."metadata"::text) <= 32768),
	CONSTRAINT "avatars_version_check" CHECK ("avatars"."version" >= 1)
);
--> statement-breakpoint
CREATE TABLE "tenants" (
	"tenant_id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "tenants_tenant_id_check" CHECK ("tenants"."tenant_id" ~ '^ten_[0-7][0-9a-hjkmnp-tv-z]{25}$'),
	CONSTRAINT "tenants_name_check" CHECK (char_length("tenants"."name") between 1 and 120)
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit_events" ADD CONSTRAINT "audit_events_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "avatars" ADD CONSTRAINT "avatars_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;