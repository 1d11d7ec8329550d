-- Sends the events of the growth of holds: `credits.low` for each account that fell below its threshold, and
-- `credits.exhausted` for each account that had too few credits for a growth. `p_accounts`: the accounts before the
-- growth. The calling function has locked the accounts. Lock order: the events, account by account, by tenant (see
-- emit_events).
create function rta.emit_growth_events(
  p_accounts public.credit_accounts[],
  p_exhausted_tenants text[],
  p_exhausted_environments text[],
  p_now timestamptz
) returns void
language plpgsql as $$
declare
  v_old public.credit_accounts;
  v_exhausted rta.event[];
begin
  perform from public.webhook_endpoints
  where tenant_id = any (array(select tenant_id from unnest(p_accounts))) and status = 'enabled' limit 1;
  if not found then
    return;
  end if;
  v_exhausted := rta.exhausted_events(p_exhausted_tenants, p_exhausted_environments, p_now);
  for v_old in select * from unnest(p_accounts) order by tenant_id, environment loop
    perform rta.emit_low_credits(v_old, p_now);
    perform rta.emit_events(array(
      select one from unnest(v_exhausted) one where one.tenant_id = v_old.tenant_id and one.environment = v_old.environment
    ));
  end loop;
end $$;
