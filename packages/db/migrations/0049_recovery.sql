ALTER TABLE "calls" ADD COLUMN "has_history" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "calls" ADD COLUMN "speaking" "bytea";--> statement-breakpoint
ALTER TABLE "calls" ADD COLUMN "handovers" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "calls" ADD COLUMN "lost_processes" integer DEFAULT 0 NOT NULL;
