-- Finds the counters of callers: the account of each key's environment, and the meters of the keys of its lineage in
-- this environment. Usage in test never counts against a live cap. The keys are locked (lock_caller), so their limits
-- do not change. One statement on one table for each caller, because Citus plans a query of several tables at each
-- execution.
create function rta.counters_of_callers(
  p_callers rta.caller[],
  p_caller_at integer[],       -- for each request, the position of its caller in p_callers
  p_valid_until timestamptz[]  -- for each request; null when its caller is not valid
) returns rta.counters
language plpgsql as $$
declare
  v_counters rta.counters;
  v_is_valid boolean[]; -- for each caller
  v_key record;
  v_caller_at integer[];
  v_ids text[] collate "C";
  v_environments text[];
  v_caps bigint[];
  v_limits bigint[];
begin
  for v_at in 1 .. cardinality(p_caller_at) loop
    v_is_valid[p_caller_at[v_at]] := v_is_valid[p_caller_at[v_at]] or p_valid_until[v_at] is not null;
  end loop;
  for v_at in 1 .. cardinality(p_callers) loop
    continue when v_is_valid[v_at] is not true;
    for v_key in
      select id, environment, spend_limit_credit_micros as cap, max_concurrent_sessions as session_limit from public.api_keys
      where tenant_id = p_callers[v_at].tenant_id and id = any (p_callers[v_at].lineage || p_callers[v_at].id)
    loop
      v_caller_at := v_caller_at || v_at;
      v_ids := v_ids || v_key.id;
      v_environments := v_environments || v_key.environment;
      v_caps := v_caps || v_key.cap;
      v_limits := v_limits || v_key.session_limit;
    end loop;
  end loop;
  with key as materialized (
    select key.*, caller.tenant_id collate "C" as tenant_id, caller.id collate "C" as api_key_id
    from unnest(v_caller_at, v_ids, v_environments, v_caps, v_limits) key (caller_at, id, environment, cap, session_limit)
    join unnest(p_callers) with ordinality caller on caller.ordinality = key.caller_at
  ), line as materialized (
    select own.caller_at, own.tenant_id, own.api_key_id, own.environment collate "C" as environment, key.id, key.cap,
      key.session_limit,
      dense_rank() over (order by own.tenant_id, own.environment collate "C")::integer as account_at,
      dense_rank() over (order by own.tenant_id, key.id collate "C")::integer as meter_at
    from key own join key on key.caller_at = own.caller_at and key.environment = own.environment
    where own.id = own.api_key_id
  ), charged as (
    select row(
      caller_at, tenant_id, api_key_id, environment, account_at, /* lineage */ array_agg(id collate "C" order by id collate "C"),
      /* meters_at */ array_agg(meter_at order by id collate "C")
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
