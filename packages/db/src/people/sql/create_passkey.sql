-- Writes a further passkey of the caller, spends its challenge, and writes the audit event and the claim. Returns the
-- outcome:
--   'written'
--   'over_quota'  nothing is written: the user has `p_max_passkeys` passkeys
--   'refused'     nothing is written: the challenge was spent before, or the passkey is already registered
--   'stale'       nothing is written: the caller has changed since its look-up
--   'replayed'    nothing is written: the stored response follows
-- Lock order: the user (the lock also prevents changes of its passkeys), the session, the claim, the challenge, the new
-- passkey.
create function rta.create_passkey(
  p_caller rta.caller,
  p_passkey rta.passkey,
  p_challenge rta.challenge,
  p_max_passkeys bigint,
  p_audit_event rta.audit_event,
  p_claim rta.claim -- null without an Idempotency-Key
) returns setof rta.write_outcome
language plpgsql as $$
declare
  v_outcome rta.write_outcome;
  v_refusal text;
begin
  perform from public.users where tenant_id = p_caller.tenant_id and id = p_caller.id for no key update;
  v_outcome := rta.claim_write(p_caller, rta.lock_caller(p_caller, true), p_claim, p_audit_event);
  if v_outcome.kind <> 'written' then
    return next v_outcome;
    return;
  end if;
  if (
    select count(*) from public.passkeys where tenant_id = p_caller.tenant_id and user_id = p_caller.id
  ) >= p_max_passkeys then
    v_refusal := 'over_quota';
  else
    -- An error in this block undoes the whole block.
    begin
      if rta.spend_challenge(p_caller.tenant_id, p_challenge) then
        perform rta.insert_passkey(p_passkey);
      else
        v_refusal := 'refused';
      end if;
    exception when unique_violation then
      v_refusal := 'refused';
    end;
  end if;
  if v_refusal is not null then
    return next rta.refuse_write(v_refusal, p_caller, p_claim, p_audit_event);
    return;
  end if;
  perform rta.insert_audit_events(array[p_audit_event], null, false);
  return next v_outcome;
end $$;
