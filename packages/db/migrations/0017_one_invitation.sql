-- Two invitations for one address, created at the same time, were both valid: the newest stays. The lock keeps a replica that
-- runs meanwhile from creating another one before the index is there.
LOCK TABLE "invitations" IN SHARE ROW EXCLUSIVE MODE;--> statement-breakpoint
DELETE FROM "invitations" older USING "invitations" newer
WHERE older."tenant_id" = newer."tenant_id" AND older."email" = newer."email" AND older."id" < newer."id";--> statement-breakpoint
DROP INDEX IF EXISTS "invitations_email_index";--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "invitations_address_index" ON "invitations" USING btree ("tenant_id","email");
