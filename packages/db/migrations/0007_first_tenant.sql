ALTER TABLE "tenants" ADD COLUMN "is_first" boolean;--> statement-breakpoint
-- At most one row has it. An exclusion constraint, not a unique index, since every unique index begins with tenant_id.
ALTER TABLE "tenants" ADD CONSTRAINT "tenants_is_first_once" EXCLUDE USING btree ("is_first" WITH =) WHERE ("is_first");
