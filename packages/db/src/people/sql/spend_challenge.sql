-- Spends a challenge in a tenant. Returns false when it was spent before, or has expired more than an hour ago: then it may
-- have been spent, and swept. The replica that has read it decides whether it has expired at all, by its own clock, which may
-- be behind. Lock order: the challenge.
create function rta.spend_challenge(p_tenant_id text, p_challenge rta.challenge) returns boolean
language plpgsql as $$
begin
  if p_challenge.expires_at <= clock_timestamp() - interval '1 hour' then
    return false;
  end if;
  insert into public.spent_challenges (tenant_id, nonce, expires_at)
  values (p_tenant_id, p_challenge.nonce, p_challenge.expires_at)
  on conflict do nothing;
  return found;
end $$;
