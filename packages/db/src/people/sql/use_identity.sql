-- Records the use of an identity, and spends the attempt. Returns false and writes nothing when the identity does not
-- belong to the user, or the attempt was spent before. Lock order: the identity, then the attempt.
create function rta.use_identity(p_use rta.identity_use, p_attempt rta.challenge) returns boolean
language plpgsql as $$
begin
  perform from public.user_identities
  where tenant_id = p_use.tenant_id and id = p_use.identity_id and user_id = p_use.user_id
  for no key update;
  if not found or not rta.spend_challenge(p_use.tenant_id, p_attempt) then
    return false;
  end if;
  update public.user_identities set last_used_at = p_use.used_at
  where tenant_id = p_use.tenant_id and id = p_use.identity_id;
  return true;
end $$;
