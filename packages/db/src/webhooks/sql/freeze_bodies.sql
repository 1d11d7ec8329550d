-- Stores the body of each event that has none yet. Returns the stored bodies, in the order of the parameters. The first
-- stored body of an event remains. Null for a deleted event. Lock order: events by primary key.
create function rta.freeze_bodies(p_tenant_ids text[], p_event_ids text[], p_bodies text[]) returns setof text
language plpgsql as $$
begin
  perform from public.webhook_events event
  join unnest(p_tenant_ids, p_event_ids) frozen (tenant_id, id)
    on event.tenant_id = frozen.tenant_id collate "C" and event.id = frozen.id collate "C"
  where event.body is null
  order by event.tenant_id, event.id for no key update of event;

  update public.webhook_events event set body = frozen.body
  from unnest(p_tenant_ids, p_event_ids, p_bodies) frozen (tenant_id, id, body)
  where event.tenant_id = frozen.tenant_id collate "C" and event.id = frozen.id collate "C" and event.body is null;

  return query
  select event.body from unnest(p_tenant_ids, p_event_ids) with ordinality frozen (tenant_id, id, place)
  left join public.webhook_events event
    on event.tenant_id = frozen.tenant_id collate "C" and event.id = frozen.id collate "C"
  order by frozen.place;
end $$;
