CREATE INDEX IF NOT EXISTS "api_keys_environment_index" ON "api_keys" USING btree ("environment","tenant_id","id");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "api_keys_revoked_index" ON "api_keys" USING btree ("tenant_id") WHERE "api_keys"."revoked_at" is not null;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "api_keys_expires_at_index" ON "api_keys" USING btree ("tenant_id","expires_at") WHERE "api_keys"."expires_at" is not null;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "audit_events_action_index" ON "audit_events" USING btree ("action","tenant_id","id") WHERE "audit_events"."action" <> 'avatar.created';--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "audit_events_test_index" ON "audit_events" USING btree ("environment","tenant_id","id") WHERE "audit_events"."environment" <> 'live';--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "avatars_newest_index" ON "avatars" USING btree ("environment","tenant_id","id") WHERE "avatars"."status" <> 'deleted';