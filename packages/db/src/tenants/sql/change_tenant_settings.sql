-- Changes the settings of a tenant in an environment. Writes the audit event if a value differs. Returns the outcome,
-- and the settings after that:
--   'written'
--   'unchanged'  nothing is written: the settings have another version than the change accepts
--   'not_found'  no such tenant exists
--   'stale'      nothing is written: the caller has changed since its look-up
-- The operator acts when `p_caller` is null.
-- Lock order: the caller (lock_caller), the settings.
create function rta.change_tenant_settings(
  p_caller rta.caller,
  p_tenant_id text,
  p_environment text,
  p_keeps_transcripts boolean,
  p_versions text[], -- the versions that the change accepts; null: every version
  p_audit_event rta.audit_event
) returns table (outcome text, keeps_transcripts boolean, version integer, updated_at timestamptz)
language plpgsql as $$
#variable_conflict use_column
declare
  -- `case when p_caller is null`, because `p_caller is not null` is true only if every field is set.
  v_valid_until timestamptz := case when p_caller is null then 'infinity' else rta.lock_caller(p_caller, true) end;
  v_old record;
begin
  outcome := 'stale';
  if v_valid_until is null then
    return next;
    return;
  elsif not exists (select tenant_id from public.tenants where tenant_id = p_tenant_id) then
    outcome := 'not_found';
    return next;
    return;
  end if;
  -- Inserts the defaults first, so that of two changes that find no row, the second waits for the first. The version of
  -- settings that were never set is 1.
  insert into public.tenant_settings (tenant_id, environment, keeps_transcripts, version, updated_at)
  values (p_tenant_id, p_environment, false, 1, p_audit_event.created_at)
  on conflict (tenant_id, environment) do nothing;
  select settings.keeps_transcripts, settings.version, settings.updated_at into v_old
  from public.tenant_settings settings
  where settings.tenant_id = p_tenant_id and settings.environment = p_environment
  for no key update;
  keeps_transcripts := v_old.keeps_transcripts;
  version := v_old.version;
  updated_at := v_old.updated_at;
  if v_valid_until <= clock_timestamp() then
    -- The caller has expired during the wait for the settings.
    outcome := 'stale';
  elsif v_old.version::text <> all (p_versions) then
    outcome := 'unchanged';
  else
    outcome := 'written';
    if v_old.version = 1 or v_old.keeps_transcripts <> p_keeps_transcripts then
      keeps_transcripts := p_keeps_transcripts;
      version := v_old.version + 1;
      updated_at := p_audit_event.created_at;
      update public.tenant_settings settings
      set keeps_transcripts = p_keeps_transcripts, version = v_old.version + 1, updated_at = p_audit_event.created_at
      where settings.tenant_id = p_tenant_id and settings.environment = p_environment;
    end if;
    if v_old.keeps_transcripts <> p_keeps_transcripts then
      perform rta.insert_audit_events(array[p_audit_event], null, false);
    end if;
  end if;
  return next;
end $$;
