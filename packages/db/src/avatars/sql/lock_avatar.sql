-- Locks an avatar, and returns it as it is then; all null when the tenant has none of this id in the environment.
-- Lock order: the avatar.
create function rta.lock_avatar(p_tenant_id text, p_environment text, p_id text) returns rta.avatar
language plpgsql as $$
declare
  v_avatar rta.avatar;
begin
  select tenant_id, id, environment, display_name, source_kind, model_id, status, source_asset_id, pending_source_asset_id,
    default_voice_id, generation, error, checks, preview_token, preview_file, cache_manifest_id, cache_version, settings,
    metadata, version, created_at, updated_at
  into v_avatar from public.avatars
  where tenant_id = p_tenant_id and environment = p_environment and id = p_id
  for no key update;
  return v_avatar;
end $$;
