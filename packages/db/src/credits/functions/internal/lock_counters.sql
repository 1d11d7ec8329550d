-- Locks the meters and accounts that closing these sessions changes.
-- Lock order: as open_usage_sessions: all meters by primary key, then all accounts by primary key.
create function rta.lock_counters(p_closings rta.closing[]) returns void
language plpgsql as $$
begin
  perform rta.lock_meters(array_agg(tenant_id), array_agg(api_key_id))
  from (
    select distinct closing.tenant_id, metered.api_key_id
    from unnest(p_closings) closing cross join lateral unnest(closing.lineage) metered (api_key_id)
  ) meter;
  perform rta.lock_accounts(array_agg(tenant_id), array_agg(environment))
  from (select distinct tenant_id, environment from unnest(p_closings) order by 1, 2) account;
end $$;
