-- Records the outcomes of deliveries that were recovered or resent, and of tests, at the budgets of their hosts. One success ends the pause of a host; 5 failures in a row
-- begin one (release_recoveries).
-- Lock order: the calling function has locked the deliveries; the hosts, by primary key.
create function rta.record_host_outcomes(
  p_tenant_ids text[],   -- for each delivery
  p_environments text[],
  p_hosts text[],        -- an element is null if the delivery has used no budget
  p_outcomes text[],
  p_is_sent boolean[],
  p_now timestamptz
) returns void
language plpgsql as $$
declare
  v_host record;
  v_pause_ends_at timestamptz := p_now + interval '1 minute';
begin
  for v_host in
    select tenant_id collate "C" as tenant_id, environment, host collate "C" as host, bool_or(outcome = 'delivered') as is_well,
      count(*) filter (where is_sent and outcome <> 'delivered') as failed
    from unnest(p_tenant_ids, p_environments, p_hosts, p_outcomes, p_is_sent)
      shown (tenant_id, environment, host, outcome, is_sent)
    where host is not null
    group by 1, 2, 3
    order by 1, 2, 3
  loop
    update public.webhook_hosts set
      failures = case when v_host.is_well then 0 else least(failures + v_host.failed, 5) end,
      probes = case when v_host.is_well then 0 when failures < 5 and failures + v_host.failed >= 5 then 1 else probes end,
      next_release_at = case
        when v_host.is_well and failures >= 5 then least(next_release_at, p_now)
        when not v_host.is_well and failures < 5 and failures + v_host.failed >= 5 then v_pause_ends_at
        else next_release_at
      end
    where tenant_id = v_host.tenant_id and environment = v_host.environment and host = v_host.host;
  end loop;
end $$;
