-- Lets the next delivery go on, of those that wait for an earlier event of these targets, where one has ended. A claim looks at it
-- then, and parks it again if a still earlier one is pending.
-- A statement of its own, after the one that ended them: it sees what was parked until then (park_deliveries).
-- Lock order: deliveries by primary key.
create function rta.unpark_deliveries(p_tenant_ids text[], p_endpoint_ids text[], p_target_ids text[]) returns void
language plpgsql as $$
begin
  with next as (
    select delivery.tenant_id, delivery.id
    from (select distinct * from unnest(p_tenant_ids, p_endpoint_ids, p_target_ids) target (tenant_id, endpoint_id, target_id)) target
    cross join lateral (
      select waiting.tenant_id, waiting.id from public.webhook_deliveries waiting
      where waiting.tenant_id = target.tenant_id collate "C" and waiting.endpoint_id = target.endpoint_id collate "C"
        and waiting.target_id = target.target_id collate "C" and waiting.waits
      order by waiting.tenant_id, waiting.endpoint_id, waiting.target_id, waiting.sequence limit 1
    ) delivery
  ),
  locked as (
    select delivery.tenant_id, delivery.id from public.webhook_deliveries delivery
    join next on delivery.tenant_id = next.tenant_id and delivery.id = next.id
    where delivery.waits
    order by delivery.tenant_id, delivery.id for no key update of delivery
  )
  update public.webhook_deliveries delivery set waits = false
  from locked where delivery.tenant_id = locked.tenant_id and delivery.id = locked.id;
end $$;
