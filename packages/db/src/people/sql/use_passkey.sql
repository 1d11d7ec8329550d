-- Records the use of a passkey: its challenge is spent, and its signature counter increases. Returns false and writes
-- nothing when the passkey does not belong to the user, the challenge was spent before, or the counter has not
-- increased, because then a copy of the authenticator may exist (WebAuthn Level 3, 7.2). The counter of a passkey
-- without one stays 0. Lock order: the passkey, then the challenge.
create function rta.use_passkey(p_assertion rta.assertion, p_challenge rta.challenge) returns boolean
language plpgsql as $$
declare
  v_counter bigint;
begin
  select counter into v_counter from public.passkeys
  where tenant_id = p_assertion.tenant_id and id = p_assertion.passkey_id and user_id = p_assertion.user_id
  for no key update;
  if not found or not (p_assertion.counter > v_counter or (p_assertion.counter = 0 and v_counter = 0)) then
    return false;
  end if;
  if not rta.spend_challenge(p_assertion.tenant_id, p_challenge) then
    return false;
  end if;
  update public.passkeys set
    counter = p_assertion.counter, is_backed_up = p_assertion.is_backed_up, last_used_at = p_assertion.used_at
  where tenant_id = p_assertion.tenant_id and id = p_assertion.passkey_id;
  return true;
end $$;
