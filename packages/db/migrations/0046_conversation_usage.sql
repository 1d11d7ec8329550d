CREATE TABLE "conversation_usage" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"day" date NOT NULL,
	"input_tokens" bigint NOT NULL,
	"output_tokens" bigint NOT NULL,
	"estimated_tokens" bigint NOT NULL,
	"heard_seconds" bigint NOT NULL,
	"spoken_characters" bigint NOT NULL,
	CONSTRAINT "conversation_usage_tenant_id_day_environment_pk" PRIMARY KEY("tenant_id","day","environment"),
	CONSTRAINT "conversation_usage_environment_check" CHECK ("conversation_usage"."environment" in ('live', 'test'))
);
--> statement-breakpoint
ALTER TABLE "calls" ADD COLUMN "input_tokens" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "calls" ADD COLUMN "output_tokens" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "calls" ADD COLUMN "estimated_tokens" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "calls" ADD COLUMN "heard_seconds" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "calls" ADD COLUMN "spoken_characters" integer DEFAULT 0 NOT NULL;