-- Locks accounts, and returns them in the order of their primary keys.
-- Lock order: accounts by primary key, after the meters (lock_meters).
-- `p_tenant_ids` and `p_environments` name each account once, in that order.
create function rta.lock_accounts(p_tenant_ids text[], p_environments text[]) returns rta.locked_account[]
language plpgsql as $$
begin
  return array(
    with locked as materialized (
      select account.tenant_id, account.environment, granted - forfeited - settled - reserved as available,
        open_sessions, max_concurrent_sessions, low_threshold
      from unnest(p_tenant_ids, p_environments) wanted (tenant_id, environment)
      join public.credit_accounts account
        on account.tenant_id = wanted.tenant_id and account.environment = wanted.environment
      order by account.tenant_id, account.environment
      for no key update of account
    )
    select row(
      coalesce(locked.available, 0), locked.open_sessions, locked.max_concurrent_sessions, locked.low_threshold
    )::rta.locked_account
    from unnest(p_tenant_ids, p_environments) with ordinality wanted (tenant_id, environment, at)
    left join locked on locked.tenant_id = wanted.tenant_id and locked.environment = wanted.environment
    order by at
  );
end $$;
