-- The new columns meet their conditions in every row that is there: NOT VALID keeps the server from reading all rows while
-- the table is locked.
ALTER TABLE "avatars" ADD COLUMN IF NOT EXISTS "pending_source_asset_id" text;--> statement-breakpoint
ALTER TABLE "avatars" ADD COLUMN IF NOT EXISTS "generation" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "avatars" ADD COLUMN IF NOT EXISTS "error" text;--> statement-breakpoint
ALTER TABLE "avatars" ADD COLUMN IF NOT EXISTS "checks" json DEFAULT '[]'::json NOT NULL;--> statement-breakpoint
ALTER TABLE "avatars" ADD COLUMN IF NOT EXISTS "preview_token" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "avatars" ADD COLUMN IF NOT EXISTS "preview_file" text;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "avatars_pending_source_asset_index" ON "avatars" USING btree ("tenant_id","pending_source_asset_id") WHERE "avatars"."pending_source_asset_id" is not null and "avatars"."status" <> 'deleted';--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "avatars_preview_token_index" ON "avatars" USING btree ("preview_token") WHERE "avatars"."preview_token" is not null and "avatars"."status" <> 'deleted';--> statement-breakpoint
ALTER TABLE "avatars" ADD CONSTRAINT "avatars_pending_source_asset_id_check" CHECK (char_length("avatars"."pending_source_asset_id") between 1 and 160) NOT VALID;--> statement-breakpoint
ALTER TABLE "avatars" ADD CONSTRAINT "avatars_generation_check" CHECK ("avatars"."generation" >= 0) NOT VALID;--> statement-breakpoint
ALTER TABLE "avatars" ADD CONSTRAINT "avatars_error_check" CHECK (char_length("avatars"."error") between 1 and 500) NOT VALID;--> statement-breakpoint
ALTER TABLE "avatars" ADD CONSTRAINT "avatars_checks_check" CHECK (json_typeof("avatars"."checks") = 'array' and json_array_length("avatars"."checks") <= 32) NOT VALID;--> statement-breakpoint
ALTER TABLE "avatars" ADD CONSTRAINT "avatars_preview_token_check" CHECK (octet_length("avatars"."preview_token") = 43 and "avatars"."preview_token" ~ '^[A-Za-z0-9_-]*$') NOT VALID;--> statement-breakpoint
ALTER TABLE "avatars" ADD CONSTRAINT "avatars_preview_file_check" CHECK (("avatars"."preview_file" is null) = ("avatars"."preview_token" is null) and "avatars"."preview_file" ~ '^[0-9]+/[0-9a-f]*-webp$') NOT VALID;
