-- Locks the calls, meters and accounts that closing these sessions changes.
-- Lock order: all calls by primary key; then, as open_usage_sessions, all meters and all accounts by primary key.
create function rta.lock_counters(p_closings rta.closing[]) returns void
language plpgsql as $$
begin
  perform from public.calls
  where (tenant_id, session_id) in (select closing.tenant_id, closing.session_id from unnest(p_closings) closing)
  order by tenant_id, session_id for no key update;
  perform rta.lock_meters(array_agg(tenant_id), array_agg(api_key_id))
  from (
    select distinct closing.tenant_id, metered.api_key_id
    from unnest(p_closings) closing cross join lateral unnest(closing.lineage) metered (api_key_id)
  ) meter;
  perform rta.lock_accounts(array_agg(tenant_id), array_agg(environment))
  from (select distinct tenant_id, environment from unnest(p_closings) order by 1, 2) account;
end $$;
