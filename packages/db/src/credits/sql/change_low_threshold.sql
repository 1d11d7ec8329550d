-- Changes the threshold of an account below which `credits.low` is sent, and writes the audit event. Returns the
-- outcome:
--   'written'
--   'not_found'  no such account exists
--   'stale'      nothing is written: the caller has changed since its look-up
-- The operator acts when `p_caller` is null.
-- Lock order: the caller (lock_caller), the account, the events.
create function rta.change_low_threshold(
  p_caller rta.caller,
  p_tenant_id text,
  p_environment text,
  p_low_threshold bigint, -- null: it is never sent
  p_audit_event rta.audit_event
) returns text
language plpgsql as $$
declare
  -- `case when p_caller is null`, because `p_caller is not null` is true only if every field is set.
  v_valid_until timestamptz := case when p_caller is null then 'infinity' else rta.lock_caller(p_caller, true) end;
  v_old public.credit_accounts;
begin
  select * into v_old from public.credit_accounts
  where tenant_id = p_tenant_id and environment = p_environment
  for no key update;
  if (v_valid_until > clock_timestamp()) is not true then
    return 'stale';
  elsif v_old.tenant_id is null then
    return 'not_found';
  end if;
  update public.credit_accounts
  set low_threshold = p_low_threshold, version = version + 1, updated_at = p_audit_event.created_at
  where tenant_id = p_tenant_id and environment = p_environment;
  perform rta.insert_audit_events(array[p_audit_event], null, true);
  perform rta.emit_low_credits(v_old, p_audit_event.created_at);
  return 'written';
end $$;
