-- Signs a person in: records the use of the passkey or of the identity, and writes the session and the audit event. A
-- person has at most `p_max_sessions` valid sessions: the oldest ends (insert_user_session). Returns false and writes
-- nothing when the user was removed, or the passkey or the identity is refused (use_passkey, use_identity). Lock order:
-- the user, its sessions by primary key, the passkey or the identity, the challenge, then the new session.
create function rta.create_user_session(
  p_session rta.user_session,
  p_assertion rta.assertion,       -- null with an identity
  p_identity_use rta.identity_use, -- null with a passkey
  p_challenge rta.challenge,
  p_max_sessions bigint,
  p_idle_seconds integer,
  p_audit_event rta.audit_event,
  p_ended_event rta.audit_event
) returns boolean
language plpgsql as $$
begin
  perform from public.users where tenant_id = p_session.tenant_id and id = p_session.user_id for no key update;
  if not found then
    return false;
  end if;
  perform rta.lock_user_sessions(p_session.tenant_id, p_session.user_id);
  if not (case
    when p_identity_use.identity_id is null then rta.use_passkey(p_assertion, p_challenge)
    else rta.use_identity(p_identity_use, p_challenge)
  end) then
    return false;
  end if;
  perform rta.insert_user_session(p_session, p_max_sessions, p_idle_seconds, p_ended_event);
  perform rta.insert_audit_events(array[p_audit_event], null, false);
  return true;
end $$;
