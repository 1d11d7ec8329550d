-- Links an identity to the caller, spends its attempt, and writes the audit event. Returns the outcome:
--   'written'
--   'over_quota'  nothing is written: the user has `p_max_identities` identities
--   'taken'       nothing is written: the identity is already linked, to the caller or to another user
--   'refused'     nothing is written: the attempt was spent before
--   'stale'       nothing is written: the caller has changed since its look-up
-- Lock order: the user (the lock also prevents changes of its identities), the session, the attempt, the new identity.
create function rta.create_identity(
  p_caller rta.caller,
  p_identity rta.identity,
  p_attempt rta.challenge,
  p_max_identities bigint,
  p_audit_event rta.audit_event
) returns text
language plpgsql as $$
begin
  perform from public.users where tenant_id = p_caller.tenant_id and id = p_caller.id for no key update;
  if rta.lock_caller(p_caller, true) is null then
    return 'stale';
  end if;
  if (
    select count(*) from public.user_identities where tenant_id = p_caller.tenant_id and user_id = p_caller.id
  ) >= p_max_identities then
    return 'over_quota';
  end if;
  -- An error in this block undoes the whole block.
  begin
    if not rta.spend_challenge(p_caller.tenant_id, p_attempt) then
      return 'refused';
    end if;
    perform rta.insert_identity(p_identity);
  exception when unique_violation then
    return 'taken';
  end;
  perform rta.insert_audit_events(array[p_audit_event], null, false);
  return 'written';
end $$;
