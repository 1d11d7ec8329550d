-- Unlinks an identity of the caller, ends the other sessions that it has opened, and writes the audit event. The links for
-- further passkeys of the caller end too, as with a passkey (delete_passkey). Returns the outcome, and the identity as it was:
--   'written'
--   'last_passkey'  nothing is written: the caller could not sign in without it (has_other_sign_in)
--   'not_found'     the caller has no such identity
--   'stale'         nothing is written: the caller has changed since its look-up
-- Lock order: the user (the lock also prevents changes of its passkeys and identities), sessions by primary key, the
-- identity, then invitations by primary key.
create function rta.delete_identity(
  p_caller rta.caller,
  p_id text,
  p_issuer text, -- the issuer in use; null: no provider is in use
  p_audit_event rta.audit_event
) returns table (outcome text, identity rta.identity)
language plpgsql as $$
declare
  v_old rta.identity;
begin
  perform from public.users where tenant_id = p_caller.tenant_id and id = p_caller.id for no key update;
  perform rta.lock_user_sessions(p_caller.tenant_id, p_caller.id);
  if rta.lock_caller(p_caller, true) is null then
    return query select 'stale', null::rta.identity;
    return;
  end if;
  select tenant_id, id, user_id, issuer, subject, created_at, last_used_at into v_old from public.user_identities
  where tenant_id = p_caller.tenant_id and id = p_id and user_id = p_caller.id
  for update;
  if v_old.id is null then
    return query select 'not_found', null::rta.identity;
  elsif not rta.has_other_sign_in(p_caller.tenant_id, p_caller.id, p_id, p_issuer) then
    return query select 'last_passkey', v_old;
  else
    delete from public.user_sessions
    where tenant_id = p_caller.tenant_id and user_id = p_caller.id and identity_id = p_id and id <> p_caller.session_id;
    delete from public.user_identities where tenant_id = p_caller.tenant_id and id = p_id;
    perform rta.delete_passkey_links(p_caller.tenant_id, p_caller.id);
    perform rta.insert_audit_events(array[p_audit_event], null, false);
    return query select 'written', v_old;
  end if;
end $$;
