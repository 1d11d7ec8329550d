-- As emit_events, for a single event: statements that read no list take half of the time. Returns the number of deliveries: a function
-- with a value is called without a statement.
create function rta.emit_event(p_event rta.event) returns integer
language plpgsql as $$
declare
  v_endpoint_ids text[];
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_id text;
  v_is_first boolean := rta.is_first_event(p_event.type);
  v_last bigint;
  v_sequence bigint := 1;
begin
  -- A statement, and not an array of a query: Citus plans that anew each time.
  select array_agg(endpoint.id) into v_endpoint_ids
  from public.webhook_endpoints endpoint
  where endpoint.tenant_id = p_event.tenant_id and endpoint.environment = p_event.environment and endpoint.status = 'enabled'
    and rta.selects(endpoint.events, p_event.type);
  if v_endpoint_ids is null then
    return 0;
  end if;
  v_id := rta.id_time(clock_timestamp()) || rta.id_random();
  loop
    if not v_is_first then
      -- Not within the INSERT: see distributed.test.ts.
      select last.sequence into v_last from public.webhook_events last
      where last.tenant_id = p_event.tenant_id and last.target_id = p_event.target_id
      order by last.tenant_id desc, last.target_id desc, last.sequence desc limit 1;
      v_sequence := coalesce(v_last, 0) + 1;
    end if;
    insert into public.webhook_events (tenant_id, id, environment, type, target_id, sequence, created_at)
    values (
      p_event.tenant_id, 'evt_' || v_id, p_event.environment, p_event.type, p_event.target_id, v_sequence, p_event.created_at
    )
    on conflict (tenant_id, target_id, sequence) do nothing;
    exit when found;
    v_is_first := false;
  end loop;
  insert into public.webhook_deliveries (
    tenant_id, id, environment, endpoint_id, event_id, event_type, target_id, sequence, next_attempt_at, created_at
  )
  select p_event.tenant_id, rta.delivery_id('evt_' || v_id, at), p_event.environment, endpoint_id, 'evt_' || v_id,
    p_event.type, p_event.target_id, v_sequence, v_now, v_now
  from unnest(v_endpoint_ids) with ordinality endpoint (endpoint_id, at);
  return cardinality(v_endpoint_ids);
end $$;
