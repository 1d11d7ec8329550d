-- Locks accounts, each once, and returns them in the order of their primary keys. A few accounts are locked one by one:
-- see lock_meters. Lock order: accounts by primary key.
create function rta.lock_accounts(p_tenant_ids text[], p_environments text[]) returns rta.locked_account[]
language plpgsql as $$
declare
  v_accounts rta.locked_account[] := '{}';
  v_account rta.locked_account;
begin
  if cardinality(p_tenant_ids) <= 4 then
    for v_at in 1 .. cardinality(p_tenant_ids) loop
      select /* available */ granted - forfeited - settled - reserved, open_sessions,
        /* session_limit */ max_concurrent_sessions, low_threshold, max_call_seconds into v_account
      from public.credit_accounts account
      where account.tenant_id = p_tenant_ids[v_at] and account.environment = p_environments[v_at]
      for no key update;
      v_account.available := coalesce(v_account.available, 0);
      v_accounts := v_accounts || v_account;
    end loop;
    return v_accounts;
  end if;
  select array(
    with locked as materialized (
      select account.tenant_id, account.environment, granted - forfeited - settled - reserved as available,
        open_sessions, max_concurrent_sessions, low_threshold, max_call_seconds
      from unnest(p_tenant_ids, p_environments) wanted (tenant_id, environment)
      join public.credit_accounts account
        on account.tenant_id = wanted.tenant_id and account.environment = wanted.environment
      order by account.tenant_id, account.environment
      for no key update of account
    )
    select row(
      /* available */ coalesce(locked.available, 0), locked.open_sessions, /* session_limit */ locked.max_concurrent_sessions, locked.low_threshold,
      locked.max_call_seconds
    )::rta.locked_account
    from unnest(p_tenant_ids, p_environments) with ordinality wanted (tenant_id, environment, at)
    left join locked on locked.tenant_id = wanted.tenant_id and locked.environment = wanted.environment
    order by at
  ) into v_accounts;
  return v_accounts;
end $$;
