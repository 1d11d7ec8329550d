CREATE TABLE "webhook_hosts" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"host" text COLLATE "C" NOT NULL,
	"failures" integer NOT NULL,
	"probes" integer NOT NULL,
	"next_release_at" timestamp with time zone NOT NULL,
	"resent_until" timestamp (3) with time zone,
	CONSTRAINT "webhook_hosts_tenant_id_environment_host_pk" PRIMARY KEY("tenant_id","environment","host")
);
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "recovery_next_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "recovery_next_id" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "recovery_last_id" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "recovered_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD COLUMN "budget_host" text;