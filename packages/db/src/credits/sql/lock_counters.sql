-- Locks the calls, meters and accounts that closing these sessions changes. The meters exist, because opening the
-- sessions has locked them. A few rows are locked one by one: see lock_meters. Lock order: all calls by primary key;
-- then, as open_usage_sessions, all meters and all accounts by primary key.
create function rta.lock_counters(p_closings rta.closing[]) returns void
language plpgsql as $$
declare
  v_tenant_ids text[];
  v_api_key_ids text[];
  v_environments text[];
  v_api_key_id text;
begin
  if cardinality(p_closings) = 1 then
    perform from public.calls
    where tenant_id = p_closings[1].tenant_id and session_id = p_closings[1].session_id for no key update;
    for v_api_key_id in
      select metered.id from unnest(p_closings[1].lineage) metered (id) order by metered.id collate "C"
    loop
      perform from public.api_key_meters
      where tenant_id = p_closings[1].tenant_id and api_key_id = v_api_key_id for no key update;
    end loop;
    perform from public.credit_accounts
    where tenant_id = p_closings[1].tenant_id and environment = p_closings[1].environment for no key update;
    return;
  end if;
  perform from public.calls
  where (tenant_id, session_id) in (select closing.tenant_id, closing.session_id from unnest(p_closings) closing)
  order by tenant_id, session_id for no key update;
  select array_agg(tenant_id), array_agg(api_key_id) into v_tenant_ids, v_api_key_ids
  from (
    select distinct closing.tenant_id, metered.api_key_id
    from unnest(p_closings) closing cross join lateral unnest(closing.lineage) metered (api_key_id)
  ) meter;
  perform from unnest(v_tenant_ids, v_api_key_ids) key (tenant_id, id)
  join public.api_key_meters meter on meter.tenant_id = key.tenant_id and meter.api_key_id = key.id
  order by meter.tenant_id, meter.api_key_id
  for no key update of meter;
  select array_agg(tenant_id), array_agg(environment) into v_tenant_ids, v_environments
  from (select distinct tenant_id, environment from unnest(p_closings)) account;
  perform from unnest(v_tenant_ids, v_environments) wanted (tenant_id, environment)
  join public.credit_accounts account on account.tenant_id = wanted.tenant_id and account.environment = wanted.environment
  order by account.tenant_id, account.environment
  for no key update of account;
end $$;
