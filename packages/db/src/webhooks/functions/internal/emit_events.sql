-- Writes what has happened, with a delivery for each endpoint that selects it. An event that no endpoint selects is not written.
--
-- An event has the next sequence of its target. Who finds it taken waits for the transaction that has written it, and takes the
-- next one then: a later event is never visible before an earlier one. Of several events of one target, the first comes first.
--
-- Lock order: events come after everything else, by tenant and target. The events of a session, an avatar or an asset wait for
-- nobody: their target is locked. So a function that writes events of keys or of a tenant does so once, at its end.
create function rta.emit_events(p_events rta.event[]) returns void
language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp();
  v_events rta.event[] := array(
    select event from unnest(p_events) event where exists (
      select from public.webhook_endpoints endpoint
      where endpoint.tenant_id = event.tenant_id and endpoint.environment = event.environment and endpoint.status = 'enabled'
        and rta.selects(endpoint.events, event.type)
      offset 0 -- by the index, however small the table was when the plan was made
    )
  );
  v_written integer[];
begin
  while cardinality(v_events) > 0 loop
    with next as materialized (
      select distinct on (tenant_id, target_id) ordinality::integer as at, event.*
      from unnest(v_events) with ordinality event order by tenant_id, target_id, ordinality
    ), written as (
      insert into public.webhook_events (tenant_id, id, environment, type, target_id, sequence, created_at)
      select tenant_id, rta.new_id('evt', v_now), environment, type, target_id, 1 + coalesce((
        select latest.sequence from public.webhook_events latest
        where latest.tenant_id = next.tenant_id and latest.target_id = next.target_id
        order by latest.tenant_id desc, latest.target_id desc, latest.sequence desc limit 1
      ), 0), created_at
      from next order by tenant_id, target_id
      on conflict (tenant_id, target_id, sequence) do nothing
      returning tenant_id, id, environment, type, target_id, sequence
    ), delivered as (
      insert into public.webhook_deliveries (
        tenant_id, id, environment, endpoint_id, event_id, event_type, target_id, sequence, next_attempt_at, created_at
      )
      select event.tenant_id, rta.new_id('whd', v_now), event.environment, endpoint.id, event.id, event.type, event.target_id,
        event.sequence, v_now, v_now
      from written event cross join lateral (
        select one.id from public.webhook_endpoints one
        where one.tenant_id = event.tenant_id and one.environment = event.environment and one.status = 'enabled'
          and rta.selects(one.events, event.type)
        offset 0
      ) endpoint
    )
    select array_agg(at) into v_written from next join written using (tenant_id, target_id);
    exit when cardinality(v_written) = cardinality(v_events);
    v_events := array(
      select event from unnest(v_events) with ordinality one (tenant_id, environment, type, target_id, created_at, at)
      cross join lateral (select row(tenant_id, environment, type, target_id, created_at)::rta.event as event) row
      where (at = any (v_written)) is not true order by at
    );
  end loop;
end $$;
