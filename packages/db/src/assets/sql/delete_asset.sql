-- Deletes an asset with its job, and writes the audit event. Returns the outcome, and the asset after that:
--   'written'
--   'unchanged'  nothing is written: it is already deleted, or has a version that the deletion does not accept
--   'in_use'     nothing is written: an avatar that is not deleted refers to it
--   'not_found'  no such asset exists
--   'stale'      nothing is written: the caller has changed since its look-up
--
-- Lock order: the caller (lock_caller), the asset, its job (delete_job_of), the meter (change_asset). The asset is
-- locked `for update`. So an avatar that begins to refer to it (check_sources) waits for the deletion, or the deletion
-- waits and finds the avatar.
create function rta.delete_asset(
  p_caller rta.caller,
  p_environment text,
  p_id text,
  p_versions text[], -- the versions that the deletion accepts; null: every version
  p_audit_event rta.audit_event
) returns table (outcome text, asset rta.asset)
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_old rta.asset;
  v_new rta.asset;
begin
  if v_valid_until is null then
    return query select 'stale', null::rta.asset;
    return;
  end if;
  perform from public.assets
  where tenant_id = p_caller.tenant_id and environment = p_environment and id = p_id
  for update;
  v_old := rta.lock_asset(p_caller.tenant_id, p_environment, p_id);
  if v_valid_until <= clock_timestamp() then
    -- The caller has expired during the wait for the asset.
    return query select 'stale', null::rta.asset;
  elsif v_old.id is null then
    return query select 'not_found', null::rta.asset;
  elsif v_old.status = 'deleted' or v_old.version::text <> all (p_versions) then
    return query select 'unchanged', v_old;
  elsif exists (
    select from public.avatars
    where tenant_id = p_caller.tenant_id and source_asset_id = p_id and status <> 'deleted'
  ) or exists (
    select from public.avatars
    where tenant_id = p_caller.tenant_id and pending_source_asset_id = p_id and status <> 'deleted'
  ) then
    return query select 'in_use', null::rta.asset;
  else
    perform rta.delete_job_of(p_caller.tenant_id, p_id);
    v_new := v_old;
    v_new.status := 'deleted';
    v_new.error_code := null;
    v_new.error_detail := null;
    v_new.updated_at := p_audit_event.created_at;
    return query select 'written', rta.change_asset(v_old, v_new, p_audit_event);
  end if;
end $$;
