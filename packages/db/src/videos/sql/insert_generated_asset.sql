-- Writes the asset of a rendered video, which the quota counts.
-- The calling function has locked the meter of assets.
create function rta.insert_generated_asset(p_asset rta.asset) returns void
language plpgsql as $$
begin
  update public.asset_meters set assets = assets + 1, bytes = bytes + p_asset.reserved_bytes
  where tenant_id = p_asset.tenant_id and environment = p_asset.environment;
  insert into public.assets (
    tenant_id, id, environment, kind, status, content_type, size_bytes, sha256, public_token, public_type, remote_url,
    reserved_bytes, error_code, error_detail, original_filename, metadata, version, created_at, updated_at, origin, duration_ms
  )
  values (p_asset.*);
end $$;
