-- Changes an avatar of the caller's tenant and environment, and writes the audit event with the names of the fields
-- whose values differ. The same transaction starts or ends a preparation if the change requires it (change_source).
-- Returns the outcome, and the avatar after that:
--   'written'
--   'unchanged'  nothing is written: the avatar has another status or version than the change accepts
--   'not_found'  no such avatar exists
--   'asset_not_found', 'asset_kind_mismatch', 'asset_not_usable'
--                nothing is written: the new source asset is refused (check_sources)
--   'stale'      nothing is written: the caller has changed since its look-up
--
-- Lock order: caller, the new source asset, the avatar, then its job. A change that waited for another one is compared
-- with the result of that one.
create function rta.update_avatar(
  p_caller rta.caller,
  p_environment text,
  p_id text,
  p_change rta.avatar_change,
  p_versions text[], -- the versions that the change accepts; null: every version
  p_statuses text[], -- the statuses that the change accepts
  p_rules rta.preparation_rules,
  p_job_id text,     -- the id of the job, if the change starts a preparation
  p_audit_event rta.audit_event
) returns table (kind text, avatar rta.avatar)
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_old rta.avatar;
  v_new rta.avatar;
  v_has_new_source boolean := 'sourceAssetId' = any (p_change.fields) and p_change.source_asset_id is not null;
  v_refusal text;
begin
  if v_valid_until is null then
    return query select 'stale', null::rta.avatar;
    return;
  end if;

  if v_has_new_source then
    -- See check_sources.
    perform from public.assets
    where tenant_id = p_caller.tenant_id and id = p_change.source_asset_id
    for key share;
  end if;
  v_old := rta.lock_avatar(p_caller.tenant_id, p_environment, p_id);
  v_refusal := case
    -- The caller has expired during the wait for the asset or the avatar.
    when v_valid_until <= clock_timestamp() then 'stale'
    when v_old.id is null then 'not_found'
  end;
  if v_refusal is not null then
    return query select v_refusal, null::rta.avatar;
    return;
  end if;
  if v_old.version::text <> all (p_versions) or v_old.status <> all (p_statuses) then
    return query select 'unchanged', v_old;
    return;
  end if;

  v_new := v_old;
  if v_has_new_source then
    v_new.source_asset_id := p_change.source_asset_id;
    v_refusal := (rta.check_sources(
      array[p_caller], array[1], array[v_valid_until], array[v_new], null, array[p_audit_event], rta.all_written()
    ))[1].kind;
    v_new.source_asset_id := v_old.source_asset_id;
    if v_refusal <> 'written' then
      return query select v_refusal, null::rta.avatar;
      return;
    end if;
  end if;

  -- change_source changes the source.
  if 'displayName' = any (p_change.fields) then v_new.display_name := p_change.display_name; end if;
  if 'modelId' = any (p_change.fields) then v_new.model_id := p_change.model_id; end if;
  if 'defaultVoiceId' = any (p_change.fields) then v_new.default_voice_id := p_change.default_voice_id; end if;
  if 'settings' = any (p_change.fields) then v_new.settings := p_change.settings; end if;
  if 'metadata' = any (p_change.fields) then v_new.metadata := p_change.metadata; end if;
  if 'status' = any (p_change.fields) then v_new.status := p_change.status; end if;
  v_new := rta.change_source(
    v_old, v_new,
    case when 'sourceAssetId' = any (p_change.fields) then p_change.source_asset_id
      else coalesce(v_old.pending_source_asset_id, v_old.source_asset_id) end,
    p_rules,
    p_job_id
  );
  p_audit_event.changed_fields := rta.changed_fields(v_old, v_new);
  return query select 'written', rta.change_avatar(v_old, v_new, p_audit_event);
end $$;
