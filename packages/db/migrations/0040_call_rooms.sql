ALTER TABLE "calls" ADD COLUMN "room_number" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "calls" ADD COLUMN "gap_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "calls" ADD COLUMN "gap_seconds" integer DEFAULT 0 NOT NULL;
