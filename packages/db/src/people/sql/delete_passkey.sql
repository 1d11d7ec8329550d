-- Deletes a passkey of the caller, ends the other sessions that it has opened, and writes the audit event. People
-- delete a passkey when its device is lost. The links for further passkeys of the caller end too, because a thief of
-- the device may have created one, and no list shows them. Returns the outcome, and the passkey as it was:
--   'written'
--   'unchanged'     nothing is written: the passkey has a version that the request does not accept
--   'last_passkey'  nothing is written: the caller could not sign in without it (has_other_sign_in)
--   'not_found'     the caller has no such passkey
--   'stale'         nothing is written: the caller has changed since its look-up
-- Lock order: the user (the lock also prevents changes of its passkeys), sessions by primary key, the passkey, then
-- invitations by primary key.
create function rta.delete_passkey(
  p_caller rta.caller,
  p_id text,
  p_versions text[], -- the versions that the request accepts; null: every version
  p_issuer text,     -- the issuer of identities in use; null: none
  p_audit_event rta.audit_event
) returns table (outcome text, passkey rta.passkey)
language plpgsql as $$
declare
  v_old rta.passkey;
begin
  perform from public.users where tenant_id = p_caller.tenant_id and id = p_caller.id for no key update;
  perform rta.lock_user_sessions(p_caller.tenant_id, p_caller.id);
  if rta.lock_caller(p_caller, true) is null then
    return query select 'stale', null::rta.passkey;
    return;
  end if;
  select tenant_id, id, user_id, credential_id, public_key, counter, transports, is_backed_up, name, version, created_at,
    last_used_at
  into v_old from public.passkeys
  where tenant_id = p_caller.tenant_id and id = p_id and user_id = p_caller.id
  for update;
  if v_old.id is null then
    return query select 'not_found', null::rta.passkey;
  elsif v_old.version::text <> all (p_versions) then
    return query select 'unchanged', v_old;
  elsif not rta.has_other_sign_in(p_caller.tenant_id, p_caller.id, p_id, p_issuer) then
    return query select 'last_passkey', v_old;
  else
    delete from public.user_sessions
    where tenant_id = p_caller.tenant_id and user_id = p_caller.id and passkey_id = p_id and id <> p_caller.session_id;
    delete from public.passkeys where tenant_id = p_caller.tenant_id and id = p_id;
    perform rta.delete_passkey_links(p_caller.tenant_id, p_caller.id);
    perform rta.insert_audit_events(array[p_audit_event], null, false);
    return query select 'written', v_old;
  end if;
end $$;
