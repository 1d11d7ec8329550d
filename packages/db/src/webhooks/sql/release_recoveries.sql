-- Makes the next deliveries of recoveries due: see recover_deliveries. The host of an endpoint is determined here, not
-- when the recovery is requested, so that a changed URL uses the budget of its host. While no recovery runs, one entry
-- of an index is read.
--
-- The endpoints of a tenant in an environment with one host share its budget: 20 recovered deliveries a second. After 5
-- failures in a row, and for a new host, one delivery is tried, and the next one after 1, 2, 4 … minutes, at most an
-- hour, until one succeeds (record_host_outcomes). An endpoint has up to 8 recovered deliveries due or being sent. The
-- recovery waits while other deliveries are due, so new events never wait for recovered ones.
--
-- Lock order: the endpoints, the hosts, the deliveries (all skip locked). The function waits only for a transaction
-- that adds a host, in the order of the hosts. That transaction does not wait for any row that is locked here.
create function rta.release_recoveries(p_now timestamptz) returns void
language plpgsql as $$
declare
  v_endpoint record;
  v_next_id text;
  v_next_at timestamptz;
begin
  for v_endpoint in
    select found.* from (
      select tenant_id, id, environment, status, slow_until, recovery_next_id, recovery_last_id,
        rta.endpoint_host(url, id) as host
      from public.webhook_endpoints
      where recovery_next_at <= p_now
      order by recovery_next_at limit 16
      for no key update skip locked
    ) found
    order by tenant_id, environment, host, id
  loop
    v_next_id := v_endpoint.recovery_next_id;
    v_next_at := null; -- the recovery has ended
    if v_endpoint.status = 'enabled' then
      if v_endpoint.slow_until > p_now then
        v_next_at := v_endpoint.slow_until;
      else
        select released.next_id, released.next_at into v_next_id, v_next_at
        from rta.release_deliveries(
          v_endpoint.tenant_id, v_endpoint.environment, v_endpoint.id, v_endpoint.host, v_next_id, v_endpoint.recovery_last_id, p_now
        ) released;
      end if;
    end if;
    update public.webhook_endpoints set
      recovery_next_at = v_next_at,
      recovery_next_id = case when v_next_at is not null then v_next_id end,
      recovery_last_id = case when v_next_at is not null then recovery_last_id end
    where tenant_id = v_endpoint.tenant_id and id = v_endpoint.id;
  end loop;
end $$;
