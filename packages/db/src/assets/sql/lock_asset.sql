-- Locks an asset and returns it. All fields are null when the tenant has no asset with this id in the environment. This
-- lock does not conflict with the lock of an avatar that begins to refer to the asset. Lock order: the asset.
create function rta.lock_asset(p_tenant_id text, p_environment text, p_id text) returns rta.asset
language plpgsql as $$
declare
  v_asset rta.asset;
begin
  select tenant_id, id, environment, kind, status, content_type, size_bytes, sha256, public_token, public_type, remote_url,
    reserved_bytes, error_code, error_detail, original_filename, metadata, version, created_at, updated_at,
    coalesce(origin, case when remote_url is null then 'uploaded' else 'imported' end), duration_ms
  into v_asset from public.assets
  where tenant_id = p_tenant_id and environment = p_environment and id = p_id
  for no key update;
  return v_asset;
end $$;
