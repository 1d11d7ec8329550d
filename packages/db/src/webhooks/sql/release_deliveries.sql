-- Makes the next deliveries of the recovery of an endpoint due, as many as the endpoint and the budget of its host
-- allow (release_recoveries). Returns from which id and when the recovery goes on; null when no delivery is left.
-- Lock order: the calling function has locked the endpoint; the host, the deliveries (skip locked).
create function rta.release_deliveries(
  p_tenant_id text,
  p_environment text,
  p_endpoint_id text,
  p_host text,
  p_next_id text, -- the least id that was not examined
  p_last_id text,
  p_now timestamptz,
  out next_id text,
  out next_at timestamptz
)
language plpgsql as $$
declare
  v_host record;
  v_busy bigint;
  v_ids text[];
  v_look interval; -- when to check again during a pause, which a success ends
  v_released_at timestamptz; -- when the host gets further deliveries
begin
  perform rta.add_webhook_host(p_tenant_id, p_environment, p_host, p_now);
  select failures, probes, next_release_at into v_host from public.webhook_hosts
  where tenant_id = p_tenant_id and environment = p_environment and host = p_host for no key update skip locked;
  v_look := case when v_host.probes > 1 then interval '5 seconds' else interval '1 second' end;
  next_id := p_next_id;
  -- Another worker is using the budget, or it is used up.
  next_at := case when found then v_host.next_release_at else p_now + interval '50 milliseconds' end;
  if next_at > p_now then
    next_at := least(next_at, p_now + v_look);
    return;
  end if;

  select (
    select count(*) from (
      select from public.webhook_deliveries due
      where due.tenant_id = p_tenant_id and due.endpoint_id = p_endpoint_id and due.status = 'pending' and not due.waits
        and coalesce(due.leased_until, due.next_attempt_at) <= p_now
      limit 8
    ) due
  ) + (
    select count(*) from public.webhook_deliveries open
    where open.tenant_id = p_tenant_id and open.endpoint_id = p_endpoint_id and open.leased_until > p_now
  ) into v_busy;
  if v_busy >= 8 then
    next_at := p_now + interval '250 milliseconds';
    return;
  end if;

  v_ids := rta.choose_recovered(
    p_tenant_id, p_environment, p_endpoint_id, p_next_id, p_last_id, case when v_host.failures < 5 then 8 - v_busy else 1 end, p_now
  );
  if v_ids is null then
    next_at := null;
    return;
  end if;
  perform rta.requeue_deliveries(p_tenant_id, v_ids, p_host, p_now);
  next_id := v_ids[cardinality(v_ids)] || '~';
  v_released_at := case
    when v_host.failures < 5 then p_now + cardinality(v_ids) * interval '50 milliseconds'
    else p_now + least(interval '1 minute' * 2 ^ v_host.probes, interval '1 hour')
  end;
  update public.webhook_hosts set
    next_release_at = v_released_at,
    probes = case when failures < 5 then probes else least(probes + 1, 6) end
  where tenant_id = p_tenant_id and environment = p_environment and host = p_host;
  next_at := least(v_released_at, p_now + v_look);
end $$;
