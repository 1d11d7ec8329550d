ALTER TABLE "api_key_credentials" ADD COLUMN "retired_by" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "api_key_credentials" ADD COLUMN "is_unused" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "api_key_credentials_retired_at_index" ON "api_key_credentials" USING btree ("retired_at") WHERE "api_key_credentials"."retired_at" is not null;