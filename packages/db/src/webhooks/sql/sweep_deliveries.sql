-- Deletes up to `p_limit` deliveries that are older than 30 days and not pending, and the events that no delivery needs
-- any more. Skips locked deliveries. Returns the number of deliveries. The last event of a target keeps its row,
-- without its body, so that the sequence goes on, unless the target can have no further event. Lock order: deliveries
-- (skip locked); then the events, by primary key.
create function rta.sweep_deliveries(p_limit integer, p_first_kept_id text) -- the least id of a delivery that is kept
returns integer
language plpgsql as $$
declare
  v_tenant_ids text[];
  v_target_ids text[];
begin
  with old as (
    select delivery.place from public.webhook_turns turn
    cross join lateral (
      select stored.ctid as place from public.webhook_deliveries stored
      where stored.tenant_id = turn.tenant_id and stored.id < p_first_kept_id collate "C" and stored.status <> 'pending'
      order by stored.tenant_id, stored.id limit p_limit
      for update skip locked
    ) delivery
    order by turn.tenant_id limit p_limit
  ),
  swept as (
    delete from public.webhook_deliveries where ctid = any (array(select place from old))
    returning tenant_id, target_id
  )
  select array_agg(tenant_id), array_agg(target_id) into v_tenant_ids, v_target_ids from swept;
  if v_tenant_ids is null then
    return 0;
  end if;
  perform rta.sweep_events(v_tenant_ids, v_target_ids, 'evt' || substr(p_first_kept_id, 4));
  return cardinality(v_tenant_ids);
end $$;
