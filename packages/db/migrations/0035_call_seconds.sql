ALTER TABLE "fleet"."avatar_workers" ADD COLUMN "synced_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "calls" ADD COLUMN "counts_from" timestamp (3) with time zone;