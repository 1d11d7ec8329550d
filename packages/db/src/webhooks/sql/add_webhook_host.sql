-- Adds the budget of a host that has none. Of the 16 neighbouring budgets, deletes those that were not used for a day.
-- A new host must show that it works: at first, one recovered delivery is tried (release_recoveries). Lock order: the
-- host. The function waits for a transaction that adds the same host. It skips locked budgets.
create function rta.add_webhook_host(p_tenant_id text, p_environment text, p_host text, p_now timestamptz) returns void
language plpgsql as $$
begin
  insert into public.webhook_hosts (tenant_id, environment, host, failures, probes, next_release_at)
  values (p_tenant_id, p_environment, p_host, 5, 0, p_now)
  on conflict (tenant_id, environment, host) do nothing;
  if found then
    delete from public.webhook_hosts where ctid = any (array(
      select next.place from (
        select ctid as place, greatest(next_release_at, resent_until) as used_until from public.webhook_hosts
        where tenant_id = p_tenant_id and environment = p_environment and host > p_host collate "C"
        order by tenant_id, environment, host limit 16
        for update skip locked
      ) next
      where next.used_until < p_now - interval '1 day'
    ));
  end if;
end $$;
