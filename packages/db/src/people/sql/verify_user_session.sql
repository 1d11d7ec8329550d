-- Records that the person of a session has used the passkey or the identity again: operations that require it are
-- allowed until `p_verified_until`. Writes the audit event and the claim. Returns the outcome:
--   'written'
--   'refused'   nothing is written: see use_passkey and use_identity
--   'stale'     nothing is written: the caller, or its session, has changed since its look-up
--   'replayed'  nothing is written: the stored response follows
-- Lock order: the user, the session (at once with its strongest lock), the claim, the passkey or the identity, the
-- challenge.
create function rta.verify_user_session(
  p_caller rta.caller,
  p_version integer, -- the version of the session; the response shows the next one
  p_assertion rta.assertion,       -- null with an identity
  p_identity_use rta.identity_use, -- null with a passkey
  p_challenge rta.challenge,
  p_verified_until timestamptz,
  p_audit_event rta.audit_event,
  p_claim rta.claim -- null without an Idempotency-Key
) returns setof rta.write_outcome
language plpgsql as $$
declare
  v_outcome rta.write_outcome;
  v_refusal text;
begin
  perform from public.users where tenant_id = p_caller.tenant_id and id = p_caller.id for share;
  perform from public.user_sessions
  where tenant_id = p_caller.tenant_id and id = p_caller.session_id
  for no key update;
  v_outcome := rta.claim_write(p_caller, rta.lock_caller(p_caller, true), p_claim, p_audit_event);
  if v_outcome.kind <> 'written' then
    return next v_outcome;
    return;
  end if;
  if not exists (
    select from public.user_sessions
    where tenant_id = p_caller.tenant_id and id = p_caller.session_id and version = p_version
  ) then
    v_refusal := 'stale';
  elsif coalesce(p_identity_use.user_id, p_assertion.user_id) <> p_caller.id or not (case
    when p_identity_use.identity_id is null then rta.use_passkey(p_assertion, p_challenge)
    else rta.use_identity(p_identity_use, p_challenge)
  end) then
    v_refusal := 'refused';
  end if;
  if v_refusal is not null then
    return next rta.refuse_write(v_refusal, p_caller, p_claim, p_audit_event);
    return;
  end if;
  update public.user_sessions set verified_until = p_verified_until, version = version + 1
  where tenant_id = p_caller.tenant_id and id = p_caller.session_id;
  perform rta.insert_audit_events(array[p_audit_event], null, false);
  return next v_outcome;
end $$;
