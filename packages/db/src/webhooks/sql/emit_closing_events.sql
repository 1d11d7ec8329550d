-- Sends the events of sessions that end: `usage_session.ended` for each session, and `api_key.spend_limit_reached` for
-- each key whose sessions have been charged 80 % or 100 % of its spend cap. Each of these two notices is sent once, and
-- again only after the cap was raised (update_api_key). An end that passes both sends one. `spend_notice` of the meter
-- is the last notice. The calling function has locked the sessions and the meters.
create function rta.emit_closing_events(p_closings rta.closing[], p_now timestamptz) returns void
language plpgsql as $$
declare
  v_notices rta.event[];
begin
  with charged as (
    select distinct closing.tenant_id, closing.environment, metered.api_key_id
    from unnest(p_closings) closing cross join lateral unnest(closing.lineage) metered (api_key_id)
  ), noticed as (
    update public.api_key_meters meter set spend_notice = reached.percent
    from charged cross join lateral (
      select case when meter.settled >= key.spend_limit_credit_micros then 100 else 80 end as percent
      from public.api_key_meters meter
      join public.api_keys key on key.tenant_id = meter.tenant_id and key.id = meter.api_key_id
      where meter.tenant_id = charged.tenant_id and meter.api_key_id = charged.api_key_id
        and meter.settled >= key.spend_limit_credit_micros * 0.8
      offset 0
    ) reached
    where meter.tenant_id = charged.tenant_id and meter.api_key_id = charged.api_key_id
      and meter.spend_notice < reached.percent
      and exists (
        select from public.webhook_endpoints endpoint
        where endpoint.tenant_id = charged.tenant_id and endpoint.environment = charged.environment
          and endpoint.status = 'enabled'
          -- As selects.
          and (endpoint.events is null or endpoint.events && '{api_key.spend_limit_reached,api_key.*}')
        offset 0 -- by the index, for each row
      )
    returning charged.tenant_id, charged.environment, charged.api_key_id
  )
  select array_agg(row(tenant_id, environment, 'api_key.spend_limit_reached', /* target_id */ api_key_id, /* created_at */ p_now)::rta.event) into v_notices
  from noticed;
  perform rta.emit_events(
    array(
      select row(tenant_id, environment, 'usage_session.ended', /* target_id */ session_id, /* created_at */ p_now)::rta.event from unnest(p_closings)
    ) || v_notices
  );
end $$;
