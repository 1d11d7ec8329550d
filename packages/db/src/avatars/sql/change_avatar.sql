-- Writes the change of an avatar from `p_old` to `p_new`, with a new version, writes the audit event, and returns the avatar.
-- Lock order: the calling function has locked the avatar.
create function rta.change_avatar(p_old rta.avatar, p_new rta.avatar, p_audit_event rta.audit_event) returns rta.avatar
language plpgsql as $$
begin
  p_new.version := p_old.version + 1;
  p_new.updated_at := p_audit_event.created_at;
  update public.avatars set
    display_name = p_new.display_name, model_id = p_new.model_id, status = p_new.status,
    source_asset_id = p_new.source_asset_id, pending_source_asset_id = p_new.pending_source_asset_id,
    default_voice_id = p_new.default_voice_id, generation = p_new.generation, error = p_new.error,
    checks = p_new.checks, preview_token = p_new.preview_token, preview_file = p_new.preview_file,
    cache_manifest_id = p_new.cache_manifest_id, cache_version = p_new.cache_version, settings = p_new.settings,
    metadata = p_new.metadata, version = p_new.version, updated_at = p_new.updated_at
  where tenant_id = p_old.tenant_id and id = p_old.id;
  perform rta.insert_audit_events(array[p_audit_event], null, true);
  return p_new;
end $$;
