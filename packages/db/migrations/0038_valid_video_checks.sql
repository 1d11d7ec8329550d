ALTER TABLE "assets" VALIDATE CONSTRAINT "assets_origin_check";--> statement-breakpoint
ALTER TABLE "assets" VALIDATE CONSTRAINT "assets_duration_ms_check";--> statement-breakpoint
ALTER TABLE "jobs" VALIDATE CONSTRAINT "jobs_kind_check";
