-- Changes the settings of a tenant in an environment. Writes the audit event if a value differs. Returns the outcome:
--   'written'
--   'not_found'  no such tenant exists
--   'stale'      nothing is written: the caller has changed since its look-up
-- The operator acts when `p_caller` is null.
-- Lock order: the caller (lock_caller), the settings.
create function rta.change_tenant_settings(
  p_caller rta.caller,
  p_tenant_id text,
  p_environment text,
  p_keeps_transcripts boolean,
  p_audit_event rta.audit_event
) returns text
language plpgsql as $$
declare
  -- `case when p_caller is null`, because `p_caller is not null` is true only if every field is set.
  v_valid_until timestamptz := case when p_caller is null then 'infinity' else rta.lock_caller(p_caller, true) end;
  v_old boolean;
begin
  if v_valid_until is null then
    return 'stale';
  elsif not exists (select tenant_id from public.tenants where tenant_id = p_tenant_id) then
    return 'not_found';
  end if;
  -- Inserts the defaults first, so that of two changes that find no row, the second waits for the first.
  insert into public.tenant_settings (tenant_id, environment, keeps_transcripts, updated_at)
  values (p_tenant_id, p_environment, false, p_audit_event.created_at)
  on conflict (tenant_id, environment) do nothing;
  select keeps_transcripts into v_old from public.tenant_settings
  where tenant_id = p_tenant_id and environment = p_environment
  for no key update;
  if v_valid_until <= clock_timestamp() then
    -- The caller has expired during the wait for the settings.
    return 'stale';
  elsif v_old is distinct from p_keeps_transcripts then
    update public.tenant_settings set keeps_transcripts = p_keeps_transcripts, updated_at = p_audit_event.created_at
    where tenant_id = p_tenant_id and environment = p_environment;
    perform rta.insert_audit_events(array[p_audit_event], null, false);
  end if;
  return 'written';
end $$;
