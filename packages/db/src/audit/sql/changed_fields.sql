-- The names, as in the API, of the fields in which two records of an avatar differ. Only fields that a caller can
-- change are compared.
create function rta.changed_fields(p_old rta.avatar, p_new rta.avatar) returns text[]
language sql immutable as $$
  -- `json` has no equality: its text is compared.
  select array_remove(array[
    case when p_new.display_name is distinct from p_old.display_name then 'displayName' end,
    case when p_new.model_id is distinct from p_old.model_id then 'modelId' end,
    case when p_new.source_asset_id is distinct from p_old.source_asset_id then 'sourceAssetId' end,
    case when p_new.pending_source_asset_id is distinct from p_old.pending_source_asset_id then 'pendingSourceAssetId' end,
    case when p_new.default_voice_id is distinct from p_old.default_voice_id then 'defaultVoiceId' end,
    case when p_new.settings::text is distinct from p_old.settings::text then 'settings' end,
    case when p_new.metadata::text is distinct from p_old.metadata::text then 'metadata' end,
    case when p_new.status is distinct from p_old.status then 'status' end
  ], null)
$$;
