-- Spends an invitation: writes the user, if it is for a new one, with the passkey or the identity, a session and the audit
-- events. Returns the outcome:
--   'written'
--   'invalid_invitation'  nothing is written: it was spent, has expired, was withdrawn or changed, its user was removed, or
--                         its creator may no longer invite
--   'already_member' nothing is written: another user has the address now
--   'over_quota'          nothing is written: the user has `p_max_passkeys` passkeys, or `p_max_identities` identities
--   'taken'               nothing is written: the identity is already linked to a user
--   'refused'             nothing is written: the challenge was spent before, or the passkey is already registered
--
-- Lock order: the existing user who accepts, with its sessions, or the creator of the invitation; the invitation; then
-- the new rows. Of two requests that accept one invitation, the second waits and finds it spent. The lock on the
-- creator keeps the creator an owner, but does not block the creator's writes.
create function rta.accept_invitation(
  p_invitation rta.invitation, -- as returned by its look-up
  p_user rta.member,           -- the new user; null when the invitation is for an existing one
  p_passkey rta.passkey,       -- null with an identity
  p_identity rta.identity,     -- null with a passkey
  p_session rta.user_session,
  p_challenge rta.challenge,
  p_max_passkeys bigint,
  p_max_identities bigint,
  p_max_sessions bigint, -- see insert_user_session
  p_idle_seconds integer,
  p_audit_events rta.audit_event[],
  p_ended_event rta.audit_event
) returns text
language plpgsql as $$
declare
  v_constraint text;
  v_refusal text;
begin
  if p_invitation.user_id is null then
    perform from public.users where tenant_id = p_invitation.tenant_id and id = p_invitation.created_by for share;
  else
    -- Its creator is the same user, or the operator: see may_accept.
    perform from public.users
    where tenant_id = p_invitation.tenant_id and id = p_invitation.user_id
    for no key update;
    perform rta.lock_user_sessions(p_invitation.tenant_id, p_invitation.user_id);
  end if;
  perform from public.invitations
  where tenant_id = p_invitation.tenant_id and id = p_invitation.id
  for update;
  v_refusal := rta.invitation_refusal(
    p_invitation, p_passkey.id is not null, p_identity.id is not null, p_max_passkeys, p_max_identities
  );
  if v_refusal is not null then
    return v_refusal;
  end if;

  -- An error in this block undoes the whole block.
  begin
    if not rta.spend_challenge(p_invitation.tenant_id, p_challenge) then
      return 'refused';
    end if;
    delete from public.invitations where tenant_id = p_invitation.tenant_id and id = p_invitation.id;
    if p_invitation.user_id is null then
      insert into public.users (tenant_id, id, email, name, role, version, created_at) values (p_user.*);
    end if;
    if p_identity.id is null then
      perform rta.insert_passkey(p_passkey);
    else
      perform rta.insert_identity(p_identity);
    end if;
    perform rta.insert_user_session(p_session, p_max_sessions, p_idle_seconds, p_ended_event);
  exception when unique_violation then
    get stacked diagnostics v_constraint = constraint_name;
    -- On Citus, its name ends with a number.
    v_constraint := regexp_replace(v_constraint, '_[0-9]+$', '');
    return case
      -- The second name is that of the index before the migration 0032.
      when v_constraint in ('users_address_index', 'users_email_index') then 'already_member'
      when v_constraint in ('user_identities_account_index', 'user_identities_subject_index') then 'taken'
      else 'refused'
    end;
  end;
  for v_at in 1 .. cardinality(p_audit_events) loop
    perform rta.insert_audit_events(array[p_audit_events[v_at]], null, false);
  end loop;
  return 'written';
end $$;
