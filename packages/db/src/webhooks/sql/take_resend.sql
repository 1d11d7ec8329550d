-- Takes a resend or a test from the budget of the host of an endpoint: 60 at once, and then one every two seconds.
-- Returns null, or, when the budget is used up, the seconds until the next one. Lock order: the host.
create function rta.take_resend(p_tenant_id text, p_environment text, p_host text) returns integer
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_each constant interval := interval '2 seconds';
  v_until timestamptz;
begin
  perform rta.add_webhook_host(p_tenant_id, p_environment, p_host, v_now);
  select greatest(resent_until, v_now) into v_until from public.webhook_hosts
  where tenant_id = p_tenant_id and environment = p_environment and host = p_host for no key update;
  if v_until > v_now + 59 * v_each then
    return ceil(extract(epoch from v_until - v_now - 59 * v_each));
  end if;
  update public.webhook_hosts set resent_until = v_until + v_each
  where tenant_id = p_tenant_id and environment = p_environment and host = p_host;
  return null;
end $$;
