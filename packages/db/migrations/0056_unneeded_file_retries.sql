ALTER TABLE "unneeded_files" ADD COLUMN "retry_at" timestamp (3) with time zone;
