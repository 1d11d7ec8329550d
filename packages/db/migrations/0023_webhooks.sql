-- The rows of endpoints, turns and events are updated in place (fillfactor): the state of an endpoint, the time of a claim, the
-- body of an event.
CREATE TABLE "webhook_deliveries" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"endpoint_id" text COLLATE "C" NOT NULL,
	"event_id" text COLLATE "C" NOT NULL,
	"event_type" text NOT NULL,
	"target_id" text COLLATE "C" NOT NULL,
	"sequence" bigint NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"attempts" json DEFAULT '[]'::json NOT NULL,
	"attempt_count" integer DEFAULT 0 NOT NULL,
	"waits" boolean DEFAULT false NOT NULL,
	"next_attempt_at" timestamp (3) with time zone,
	"lease" text,
	"leased_until" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "webhook_deliveries_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "webhook_deliveries_status_check" CHECK ("webhook_deliveries"."status" in ('pending', 'delivered', 'failed', 'canceled')),
	CONSTRAINT "webhook_deliveries_due_check" CHECK (("webhook_deliveries"."next_attempt_at" is not null) = ("webhook_deliveries"."status" = 'pending')),
	CONSTRAINT "webhook_deliveries_lease_check" CHECK (("webhook_deliveries"."lease" is null) = ("webhook_deliveries"."leased_until" is null)),
	CONSTRAINT "webhook_deliveries_waits_check" CHECK (not "webhook_deliveries"."waits" or ("webhook_deliveries"."status" = 'pending' and "webhook_deliveries"."lease" is null))
);
--> statement-breakpoint
CREATE TABLE "webhook_endpoints" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"url" text,
	"description" text,
	"events" text[],
	"ordered" boolean DEFAULT false NOT NULL,
	"status" text NOT NULL,
	"disabled_reason" text,
	"secret" "bytea" NOT NULL,
	"previous_secret" "bytea",
	"previous_secret_expires_at" timestamp (3) with time zone,
	"failing_since" timestamp (3) with time zone,
	"slow_until" timestamp (3) with time zone,
	"claimed_at" timestamp (3) with time zone,
	"version" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "webhook_endpoints_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "webhook_endpoints_id_check" CHECK (octet_length("webhook_endpoints"."id") = 30 and "webhook_endpoints"."id" ~ '^whe_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "webhook_endpoints_environment_check" CHECK ("webhook_endpoints"."environment" in ('live', 'test')),
	CONSTRAINT "webhook_endpoints_url_check" CHECK (char_length("webhook_endpoints"."url") between 1 and 2048),
	CONSTRAINT "webhook_endpoints_description_check" CHECK (char_length("webhook_endpoints"."description") between 1 and 200),
	CONSTRAINT "webhook_endpoints_events_check" CHECK (cardinality("webhook_endpoints"."events") between 1 and 64),
	CONSTRAINT "webhook_endpoints_status_check" CHECK ("webhook_endpoints"."status" in ('enabled', 'disabled')),
	CONSTRAINT "webhook_endpoints_disabled_reason_check" CHECK ("webhook_endpoints"."disabled_reason" in ('requested', 'gone', 'failing', 'operator')),
	CONSTRAINT "webhook_endpoints_disabled_check" CHECK (("webhook_endpoints"."disabled_reason" is not null) = ("webhook_endpoints"."status" = 'disabled')),
	CONSTRAINT "webhook_endpoints_previous_secret_check" CHECK (("webhook_endpoints"."previous_secret" is null) = ("webhook_endpoints"."previous_secret_expires_at" is null)),
	CONSTRAINT "webhook_endpoints_version_check" CHECK ("webhook_endpoints"."version" >= 1)
) WITH (fillfactor = 70);
--> statement-breakpoint
CREATE TABLE "webhook_events" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"type" text NOT NULL,
	"target_id" text COLLATE "C" NOT NULL,
	"sequence" bigint NOT NULL,
	"body" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "webhook_events_tenant_id_id_pk" PRIMARY KEY("tenant_id","id")
) WITH (fillfactor = 50);
--> statement-breakpoint
CREATE TABLE "webhook_turns" (
	"tenant_id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"claimed_at" timestamp with time zone
) WITH (fillfactor = 50);
--> statement-breakpoint
ALTER TABLE "api_key_meters" ADD COLUMN "spend_notice" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key_meters" ADD COLUMN "expiry_notice" integer;--> statement-breakpoint
ALTER TABLE "credit_accounts" ADD COLUMN "low_threshold" bigint;--> statement-breakpoint
ALTER TABLE "credit_accounts" ADD COLUMN "exhausted_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_turns" ADD CONSTRAINT "webhook_turns_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_due_index" ON "webhook_deliveries" USING btree (coalesce(leased_until, next_attempt_at)) WHERE "webhook_deliveries"."status" = 'pending' and not "webhook_deliveries"."waits";--> statement-breakpoint
CREATE INDEX "webhook_deliveries_endpoint_due_index" ON "webhook_deliveries" USING btree ("tenant_id","endpoint_id",coalesce(leased_until, next_attempt_at),"created_at","sequence") WHERE "webhook_deliveries"."status" = 'pending' and not "webhook_deliveries"."waits";--> statement-breakpoint
CREATE INDEX "webhook_deliveries_order_index" ON "webhook_deliveries" USING btree ("tenant_id","endpoint_id","target_id","sequence") WHERE "webhook_deliveries"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "webhook_deliveries_waiting_index" ON "webhook_deliveries" USING btree ("tenant_id","endpoint_id","target_id","sequence") WHERE "webhook_deliveries"."waits";--> statement-breakpoint
CREATE INDEX "webhook_deliveries_lease_index" ON "webhook_deliveries" USING btree ("tenant_id","endpoint_id","leased_until") WHERE "webhook_deliveries"."leased_until" is not null;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_failed_index" ON "webhook_deliveries" USING btree ("tenant_id","endpoint_id","id") WHERE "webhook_deliveries"."status" in ('failed', 'canceled');--> statement-breakpoint
CREATE INDEX "webhook_deliveries_test_index" ON "webhook_deliveries" USING btree ("environment","tenant_id","id") WHERE "webhook_deliveries"."environment" <> 'live';--> statement-breakpoint
CREATE INDEX "webhook_endpoints_enabled_index" ON "webhook_endpoints" USING btree ("tenant_id","environment") WHERE "webhook_endpoints"."status" = 'enabled';--> statement-breakpoint
CREATE INDEX "webhook_endpoints_list_index" ON "webhook_endpoints" USING btree ("environment","tenant_id","id");--> statement-breakpoint
CREATE INDEX "webhook_endpoints_disabled_index" ON "webhook_endpoints" USING btree ("tenant_id","id") WHERE "webhook_endpoints"."status" = 'disabled';--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_events_sequence_index" ON "webhook_events" USING btree ("tenant_id","target_id","sequence");--> statement-breakpoint
CREATE INDEX "webhook_turns_claimed_at_index" ON "webhook_turns" USING btree ("claimed_at");