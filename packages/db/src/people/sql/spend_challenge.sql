-- Spends a challenge in a tenant. Returns false when it was spent before, or expired more than an hour ago, because
-- then its row may have been swept. The replica that reads the challenge checks its expiry by its own clock, which may
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
