-- Writes events, with a delivery for each endpoint that selects them. An event that no endpoint selects is not written,
-- so a change of a tenant without an enabled endpoint costs one probe of an index.
--
-- An event has the next sequence of its target. A transaction that finds this sequence taken waits for the transaction
-- that has written it, and then takes the next sequence (`p_is_again`). So a later event is never visible before an
-- earlier one, and sequences have no gaps. The second of two events of one target in a call does the same.
--
-- Lock order: events come after everything else, by tenant and target. The events of a session, an avatar or an asset
-- do not wait, because their target is locked. A function that writes events of keys or of a tenant does so once, at
-- its end. An event whose sequence is taken is written after the others of the call, and so out of order. Therefore a
-- function that writes events of several keys has locked their meters, and a function that writes events of several
-- tenants writes them one by one (emit_opening_events). Four short statements, because one statement for all would take
-- three times as long for a single event. The first one reads one table, so Citus keeps its plan.
create function rta.emit_events(p_events rta.event[], p_is_again boolean default false) returns void
language plpgsql as $$
declare
  v_at constant timestamptz := clock_timestamp();
  v_now constant timestamptz := date_trunc('milliseconds', v_at);
  v_tenant_ids text[];
  v_events rta.numbered_event[];
  v_written text[];
begin
  for v_index in 1 .. coalesce(cardinality(p_events), 0) loop
    v_tenant_ids := v_tenant_ids || p_events[v_index].tenant_id;
  end loop;
  perform from public.webhook_endpoints where tenant_id = any (v_tenant_ids) and status = 'enabled' limit 1;
  if not found then
    return;
  end if;
  select array(
    select row(
      tenant_id, /* id */ 'evt_' || rta.new_id(v_at), environment, type, target_id,
      -- The target has just been created, so this is its first event and needs no look-up.
      /* sequence */ case when not p_is_again and split_part(type, '.', 2) in ('created', 'opened') then 1 else 1 + coalesce((
        -- Sorted by all columns, so that one entry of the index is read, even if the table was small when the plan was
        -- made.
        select last.sequence from public.webhook_events last
        where last.tenant_id = event.tenant_id and last.target_id = event.target_id
        order by last.tenant_id desc, last.target_id desc, last.sequence desc limit 1
      ), 0) end, created_at, endpoint_ids
    )::rta.numbered_event
    from unnest(p_events) with ordinality event (tenant_id, environment, type, target_id, created_at, at)
    cross join lateral (
      select array(
        select endpoint.id from public.webhook_endpoints endpoint
        where endpoint.tenant_id = event.tenant_id and endpoint.environment = event.environment
          and endpoint.status = 'enabled'
          -- As selects.
          and (endpoint.events is null or endpoint.events && array[event.type, split_part(event.type, '.', 1) || '.*'])
        offset 0 -- by the index as well
      ) as endpoint_ids
      offset 0 -- once for each event
    ) selecting
    where endpoint_ids <> '{}'
    order by tenant_id, target_id, at
  ) into v_events;
  if v_events = '{}' then
    return;
  end if;
  with written as (
    insert into public.webhook_events (tenant_id, id, environment, type, target_id, sequence, created_at)
    select tenant_id, id, environment, type, target_id, sequence, created_at from unnest(v_events)
    on conflict (tenant_id, target_id, sequence) do nothing
    returning id
  )
  select array_agg(id) into v_written from written;
  -- The id of a delivery is the event id with its last digit replaced by the number of the endpoint. A tenant has at
  -- most 16 endpoints.
  insert into public.webhook_deliveries (
    tenant_id, id, environment, endpoint_id, event_id, event_type, target_id, sequence, next_attempt_at, created_at
  )
  select event.tenant_id, 'whd_' || substr(event.id, 5, 25) || to_hex(at - 1), event.environment, endpoint_id, /* event_id */ event.id, event.type,
    event.target_id, event.sequence, v_now, v_now
  from unnest(v_events) event cross join lateral unnest(event.endpoint_ids) with ordinality endpoint (endpoint_id, at)
  where event.id = any (v_written);
  if cardinality(v_written) = cardinality(v_events) then
    return;
  end if;
  perform rta.emit_events(array(
    select row(tenant_id, environment, type, target_id, created_at)::rta.event
    from unnest(v_events) where id = any (v_written) is not true
  ), true);
end $$;
