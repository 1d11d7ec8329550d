-- Renames a passkey of the caller and writes the audit event. Returns the outcome, and the passkey after that:
--   'written'
--   'unchanged'  nothing is written: the passkey has a version that the request does not accept
--   'not_found'  the caller has no such passkey
--   'stale'      nothing is written: the caller has changed since its look-up
-- Lock order: the caller (lock_caller), the passkey.
create function rta.update_passkey(
  p_caller rta.caller,
  p_id text,
  p_name text,
  p_versions text[], -- the versions that the request accepts; null: every version
  p_audit_event rta.audit_event
) returns table (outcome text, passkey rta.passkey)
language plpgsql as $$
declare
  v_passkey rta.passkey;
begin
  if rta.lock_caller(p_caller, true) is null then
    return query select 'stale', null::rta.passkey;
    return;
  end if;
  select tenant_id, id, user_id, credential_id, public_key, counter, transports, is_backed_up, name, version, created_at,
    last_used_at
  into v_passkey from public.passkeys
  where tenant_id = p_caller.tenant_id and id = p_id and user_id = p_caller.id
  for no key update;
  if v_passkey.id is null then
    return query select 'not_found', null::rta.passkey;
  elsif v_passkey.version::text <> all (p_versions) then
    return query select 'unchanged', v_passkey;
  else
    v_passkey.name := p_name;
    v_passkey.version := v_passkey.version + 1;
    update public.passkeys set name = v_passkey.name, version = v_passkey.version
    where tenant_id = p_caller.tenant_id and id = p_id;
    perform rta.insert_audit_events(array[p_audit_event], null, false);
    return query select 'written', v_passkey;
  end if;
end $$;
