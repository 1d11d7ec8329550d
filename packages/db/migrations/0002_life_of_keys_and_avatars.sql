CREATE TABLE "api_key_pending_changes" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"api_key_id" text COLLATE "C" NOT NULL,
	"announced_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "api_key_pending_changes_tenant_id_api_key_id_pk" PRIMARY KEY("tenant_id","api_key_id")
);
--> statement-breakpoint
CREATE TABLE "api_key_usage" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"api_key_id" text COLLATE "C" NOT NULL,
	"last_used_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "api_key_usage_tenant_id_api_key_id_pk" PRIMARY KEY("tenant_id","api_key_id")
);
--> statement-breakpoint
ALTER TABLE "audit_events" ADD COLUMN "changed_fields" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
CREATE INDEX "api_key_credentials_api_key_id_index" ON "api_key_credentials" USING btree ("tenant_id","api_key_id");--> statement-breakpoint
CREATE INDEX "audit_events_target_id_index" ON "audit_events" USING btree ("target_id","tenant_id","id");--> statement-breakpoint
CREATE INDEX "audit_events_actor_key_id_index" ON "audit_events" USING btree ("actor_key_id","tenant_id","id");--> statement-breakpoint
CREATE INDEX "avatars_list_index" ON "avatars" USING btree ("environment","tenant_id","status","source_kind","id");