-- Finds the counters that callers are charged to: the account of each key's environment, and the meters of the keys of its
-- lineage that are of this environment. Use in test never counts against a live cap. The keys are locked (lock_caller), so
-- their limits stay as they are.
create function rta.counters_of_callers(
  p_callers rta.caller[],
  p_caller_at integer[],       -- for each request, the position of its caller in p_callers
  p_valid_until timestamptz[]  -- for each request; null when its caller is not valid
) returns rta.counters
language plpgsql as $$
declare
  v_counters rta.counters;
begin
  with line as materialized (
    select caller.ordinality::integer as caller_at, own.tenant_id, own.id as api_key_id,
      own.environment collate "C" as environment, key.id, key.spend_limit_credit_micros as cap,
      key.max_concurrent_sessions as session_limit,
      dense_rank() over (order by own.tenant_id, own.environment collate "C")::integer as account_at,
      dense_rank() over (order by own.tenant_id, key.id)::integer as meter_at
    from unnest(p_callers) with ordinality caller
    join public.api_keys own on own.tenant_id = caller.tenant_id and own.id = caller.id
    join public.api_keys key on key.tenant_id = own.tenant_id and key.id = any (own.lineage || own.id)
      and key.environment = own.environment
    where caller.ordinality in (
      select caller_at from unnest(p_caller_at, p_valid_until) request (caller_at, valid_until)
      where valid_until is not null
    )
  ), charged as (
    select row(
      caller_at, tenant_id, api_key_id, environment, account_at, /* lineage */ array_agg(id order by id),
      /* meters_at */ array_agg(meter_at order by id)
    )::rta.charged_caller as caller
    from line group by caller_at, tenant_id, api_key_id, environment, account_at
  ), meter as (
    select distinct meter_at, tenant_id, id, cap, session_limit from line order by meter_at
  ), account as (
    select distinct account_at, tenant_id, environment from line order by account_at
  )
  select (select array_agg(caller) from charged), meters.*, accounts.* into v_counters
  from (select array_agg(tenant_id), array_agg(id), array_agg(cap), array_agg(session_limit) from meter) meters,
    (select array_agg(tenant_id), array_agg(environment) from account) accounts;
  return v_counters;
end $$;
