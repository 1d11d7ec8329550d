-- Starts the recovery of an endpoint, from one delivery to another. Returns the time of the next delivery to the host
-- while its recoveries are paused after failures; null otherwise. Lock order: the calling function has locked the
-- endpoint; the host.
create function rta.start_recovery(
  p_tenant_id text,
  p_environment text,
  p_endpoint_id text,
  p_host text,
  p_first_id text,
  p_last_id text,
  p_now timestamptz
) returns timestamptz
language plpgsql as $$
begin
  perform rta.add_webhook_host(p_tenant_id, p_environment, p_host, p_now);
  update public.webhook_endpoints set
    recovered_at = p_now, recovery_next_at = p_now, recovery_next_id = p_first_id, recovery_last_id = p_last_id
  where tenant_id = p_tenant_id and id = p_endpoint_id;
  return (
    select next_release_at from public.webhook_hosts
    where tenant_id = p_tenant_id and environment = p_environment and host = p_host and failures >= 5 and next_release_at > p_now
  );
end $$;
