-- Records that accounts have too few credits for a request. Returns the events `credits.exhausted`: at most one an hour
-- for each account, and only for an account with an endpoint that selects it. The calling function has locked the
-- accounts.
create function rta.exhausted_events(p_tenant_ids text[], p_environments text[], p_now timestamptz) returns rta.event[]
language plpgsql as $$
declare
  v_events rta.event[];
begin
  with refused as (
    select distinct one.tenant_id, one.environment from unnest(p_tenant_ids, p_environments) one (tenant_id, environment)
  ), exhausted as (
    update public.credit_accounts account set exhausted_at = p_now from refused
    where account.tenant_id = refused.tenant_id and account.environment = refused.environment
      and (account.exhausted_at > p_now - interval '1 hour') is not true
      and exists (
        select from public.webhook_endpoints endpoint
        where endpoint.tenant_id = account.tenant_id and endpoint.environment = account.environment
          and endpoint.status = 'enabled' and rta.selects(endpoint.events, 'credits.exhausted')
        offset 0 -- by the index, for each row
      )
    returning account.tenant_id, account.environment
  )
  select array_agg(row(tenant_id, environment, 'credits.exhausted', /* target_id */ tenant_id, /* created_at */ p_now)::rta.event) into v_events
  from exhausted;
  return v_events;
end $$;
