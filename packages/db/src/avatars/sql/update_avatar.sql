-- Changes an avatar of the caller's tenant and environment, and writes the audit event with the names of the fields whose
-- values differ. A preparation that the change starts or ends, or that the deletion of the avatar ends, starts or ends with it
-- (change_source). Returns the outcome, and the avatar as it is then:
--   'written'
--   'unchanged'  nothing is written: the avatar has another status or version than the change accepts
--   'not_found'  there is no such avatar
--   'asset_not_found', 'asset_kind_mismatch', 'asset_not_usable'
--                nothing is written: the new source asset is refused (source_outcome)
--   'stale'      nothing is written: the caller has changed since its look-up
--
-- Lock order: caller, the new source asset, the avatar, then its job. A change that waited for another one is compared with what
-- that one wrote.
create function rta.update_avatar(
  p_caller rta.caller,
  p_environment text,
  p_id text,
  p_change rta.avatar_change,
  p_versions text[], -- the versions that the change accepts; null: every version
  p_statuses text[], -- the statuses that the change accepts
  p_rules rta.preparation_rules,
  p_job_id text,     -- of the preparation that the change may start
  p_audit_event rta.audit_event
) returns table (kind text, avatar rta.avatar)
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_old rta.avatar;
  v_new rta.avatar;
  v_has_new_source boolean := 'sourceAssetId' = any (p_change.fields) and p_change.source_asset_id is not null;
  v_asset_kind text;
  v_asset_status text;
  v_source_outcome text;
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
  if v_valid_until <= clock_timestamp() then
    -- The caller has expired during the wait for the asset or the avatar.
    return query select 'stale', null::rta.avatar;
    return;
  end if;
  if v_old.id is null then
    return query select 'not_found', null::rta.avatar;
    return;
  end if;
  if v_old.version::text <> all (p_versions) or v_old.status <> all (p_statuses) then
    return query select 'unchanged', v_old;
    return;
  end if;

  if v_has_new_source then
    select asset.kind, asset.status into v_asset_kind, v_asset_status from public.assets asset
    where asset.tenant_id = p_caller.tenant_id and asset.id = p_change.source_asset_id
      and asset.environment = p_environment;
    v_source_outcome := rta.source_outcome(
      p_environment, p_change.source_asset_id, v_old.source_kind, v_asset_kind, v_asset_status
    );
    if v_source_outcome <> 'written' then
      return query select v_source_outcome, null::rta.avatar;
      return;
    end if;
  end if;

  v_new := rta.change_source(
    v_old, rta.changed_avatar(v_old, p_change),
    case when 'sourceAssetId' = any (p_change.fields) then p_change.source_asset_id
      else coalesce(v_old.pending_source_asset_id, v_old.source_asset_id) end,
    p_rules,
    p_job_id
  );
  p_audit_event.changed_fields := rta.changed_fields(v_old, v_new);
  return query select 'written', rta.change_avatar(v_old, v_new, p_audit_event);
end $$;
