-- Creates an invitation, in place of an earlier one for the same address, and writes the audit event and the claim. Returns
-- the outcome:
--   'written'
--   'already_member'  nothing is written: a user has the address, and the invitation is for a new one
--   'not_found'       nothing is written: no such tenant or user exists
--   'stale'           nothing is written: the caller has changed since its look-up
--   'replayed'        nothing is written: the stored response follows
-- An invitation of the operator lasts for its length from now, by the clock of the database. The expiry of a person's
-- invitation follows from the look-up, which has read that clock, so its response is known before the write.
-- Lock order: the caller (lock_caller; null: the operator), the claim, the user, the invitation. Other functions lock
-- users before claims. The order here cannot deadlock, because only a repetition of this request waits for its claim,
-- and it shares the lock of the user.
create function rta.create_invitation(
  p_caller rta.caller,
  p_invitation rta.invitation,
  p_audit_event rta.audit_event,
  p_claim rta.claim -- null without an Idempotency-Key
) returns setof rta.write_outcome
language plpgsql as $$
declare
  v_valid_until timestamptz := case when p_caller is null then 'infinity' else rta.lock_caller(p_caller, true) end;
  v_outcome rta.write_outcome := rta.claim_write(p_caller, v_valid_until, p_claim, p_audit_event);
  v_refusal text;
  v_now timestamptz;
begin
  if v_outcome.kind <> 'written' then
    return next v_outcome;
    return;
  end if;
  if not exists (select from public.tenants where tenant_id = p_invitation.tenant_id) then
    v_refusal := 'not_found';
  elsif p_invitation.user_id is null then
    if exists (select from public.users where tenant_id = p_invitation.tenant_id and email = p_invitation.email) then
      v_refusal := 'already_member';
    end if;
  else
    perform from public.users
    where tenant_id = p_invitation.tenant_id and id = p_invitation.user_id and email = p_invitation.email
    for key share;
    if not found then
      v_refusal := 'not_found';
    end if;
  end if;

  perform from public.invitations
  where tenant_id = p_invitation.tenant_id and email = p_invitation.email
  for update;
  if v_refusal is null and v_valid_until <= clock_timestamp() then
    -- The caller has expired during a wait.
    v_refusal := 'stale';
  end if;
  if v_refusal is not null then
    return next rta.refuse_write(v_refusal, p_caller, p_claim, p_audit_event);
    return;
  end if;
  if p_caller is null then
    v_now := date_trunc('milliseconds', clock_timestamp());
    p_invitation.expires_at := v_now + (p_invitation.expires_at - p_invitation.created_at);
    p_invitation.created_at := v_now;
  end if;
  -- Of two invitations that are created at the same time, the second waits here and replaces the first.
  insert into public.invitations (
    tenant_id, id, digest, email, role, user_id, created_by, created_at, expires_at
  )
  values (p_invitation.*)
  on conflict (tenant_id, email) do update set
    id = excluded.id, digest = excluded.digest, role = excluded.role, user_id = excluded.user_id,
    created_by = excluded.created_by, created_at = excluded.created_at, expires_at = excluded.expires_at;
  perform rta.insert_audit_events(array[p_audit_event], null, false);
  return next v_outcome;
end $$;
