CREATE INDEX IF NOT EXISTS "avatars_source_asset_index" ON "avatars" USING btree ("tenant_id","source_asset_id") WHERE "avatars"."source_asset_id" is not null and "avatars"."status" <> 'deleted';
