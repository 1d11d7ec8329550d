-- Adds the holds and the sessions of a batch to each meter and account of `p_counters`, which the calling function has
-- locked. A few counters are changed one by one: see lock_meters.
create function rta.hold_counters(
  p_counters rta.counters,
  p_meters_held bigint[],
  p_meters_opened bigint[],
  p_accounts_held bigint[],
  p_accounts_opened bigint[]
) returns void
language plpgsql as $$
begin
  if cardinality(p_meters_held) <= 4 then
    for v_at in 1 .. cardinality(p_meters_held) loop
      continue when p_meters_opened[v_at] = 0;
      update public.api_key_meters
      set reserved = reserved + p_meters_held[v_at], open_sessions = open_sessions + p_meters_opened[v_at]
      where tenant_id = p_counters.meter_tenant_ids[v_at] and api_key_id = p_counters.meter_api_key_ids[v_at];
    end loop;
  else
    update public.api_key_meters meter
    set reserved = meter.reserved + held.amount, open_sessions = meter.open_sessions + held.sessions
    from unnest(p_counters.meter_tenant_ids, p_counters.meter_api_key_ids, p_meters_held, p_meters_opened)
      held (tenant_id, api_key_id, amount, sessions)
    where meter.tenant_id = held.tenant_id and meter.api_key_id = held.api_key_id and held.sessions > 0;
  end if;
  if cardinality(p_accounts_held) <= 4 then
    for v_at in 1 .. cardinality(p_accounts_held) loop
      continue when p_accounts_opened[v_at] = 0;
      update public.credit_accounts
      set reserved = reserved + p_accounts_held[v_at], open_sessions = open_sessions + p_accounts_opened[v_at],
        version = version + 1, updated_at = date_trunc('milliseconds', now())
      where tenant_id = p_counters.account_tenant_ids[v_at] and environment = p_counters.account_environments[v_at];
    end loop;
  else
    update public.credit_accounts account
    set reserved = account.reserved + held.amount, open_sessions = account.open_sessions + held.sessions,
      version = account.version + 1, updated_at = date_trunc('milliseconds', now())
    from unnest(p_counters.account_tenant_ids, p_counters.account_environments, p_accounts_held, p_accounts_opened)
      held (tenant_id, environment, amount, sessions)
    where account.tenant_id = held.tenant_id and account.environment = held.environment and held.sessions > 0;
  end if;
end $$;
