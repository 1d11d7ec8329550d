-- Cancels due deliveries that must not be sent, because their endpoint is deleted or disabled, or no longer selects
-- their type. For a deleted or disabled endpoint, also cancels waiting deliveries. Cancels up to 1,000 deliveries and
-- skips locked ones; the next claim goes on.
--
-- Where deliveries of the same target wait, the first of them becomes due in place of the canceled ones, and the next
-- claim examines it. If the first one is locked, the deliveries of its target are left to the next claim, because the
-- transaction that locks it may wait for one of them. Lock order: the calling function has locked the turns; deliveries
-- (skip locked).
create function rta.cancel_deliveries(p_now timestamptz, p_tenant_ids text[], p_endpoint_ids text[]) returns void
language plpgsql as $$
begin
  with served as (
    select served.tenant_id, served.endpoint_id, coalesce(endpoint.status = 'enabled', false) as is_enabled, endpoint.events
    from unnest(p_tenant_ids, p_endpoint_ids) served (tenant_id, endpoint_id)
    left join lateral (
      select status, events from public.webhook_endpoints stored
      where stored.tenant_id = served.tenant_id collate "C" and stored.id = served.endpoint_id collate "C"
      offset 0
    ) endpoint on true
  ),
  canceled as materialized (
    select delivery.tenant_id, delivery.id, delivery.endpoint_id, delivery.target_id from served
    cross join lateral (
      select due.tenant_id, due.id, due.endpoint_id, due.target_id, due.event_type from public.webhook_deliveries due
      where due.tenant_id = served.tenant_id collate "C" and due.endpoint_id = served.endpoint_id collate "C"
        and due.status = 'pending' and not due.waits and coalesce(due.leased_until, due.next_attempt_at) <= p_now
      order by due.tenant_id, due.endpoint_id, coalesce(due.leased_until, due.next_attempt_at)
      limit case when served.is_enabled then case when served.events is null then 0 else 256 end else 1000 end
    ) delivery
    -- A test is for one endpoint, even if the endpoint does not select the type.
    where not (
      served.is_enabled and (rta.selects(served.events, delivery.event_type) or delivery.event_type = 'webhook_endpoint.test')
    )
    union all
    -- A waiting delivery was due before it was parked.
    select delivery.tenant_id, delivery.id, delivery.endpoint_id, delivery.target_id from served
    cross join lateral (
      select waiting.tenant_id, waiting.id, waiting.endpoint_id, waiting.target_id from public.webhook_deliveries waiting
      where waiting.tenant_id = served.tenant_id collate "C" and waiting.endpoint_id = served.endpoint_id collate "C"
        and waiting.waits
      limit 1000
    ) delivery
    where not served.is_enabled
    limit 1000
  ),
  -- The first waiting delivery of each target. `place` is null when it is locked or no longer waits.
  first_waiting as materialized (
    select target.*, waiting.id, case when locked.waits then locked.place end as place
    from (select distinct tenant_id, endpoint_id, target_id from canceled) target
    left join lateral (
      select stored.id from public.webhook_deliveries stored
      where stored.tenant_id = target.tenant_id and stored.endpoint_id = target.endpoint_id
        and stored.target_id = target.target_id and stored.waits
      order by stored.tenant_id, stored.endpoint_id, stored.target_id, stored.sequence limit 1
    ) waiting on true
    left join lateral (
      select stored.ctid as place, stored.waits from public.webhook_deliveries stored
      where stored.tenant_id = target.tenant_id and stored.id = waiting.id
      offset 0 -- so that the planner reads by the primary key, not by the index of waiting deliveries
      for no key update skip locked
    ) locked on true
  ),
  locked as (
    select delivery.place from canceled join first_waiting using (tenant_id, endpoint_id, target_id)
    cross join lateral (
      select stored.ctid as place from public.webhook_deliveries stored
      where stored.tenant_id = canceled.tenant_id and stored.id = canceled.id
        and stored.status = 'pending' and coalesce(stored.leased_until, stored.next_attempt_at) <= p_now
      for no key update skip locked
    ) delivery
    where first_waiting.id is null or first_waiting.place is not null and canceled.id <> first_waiting.id
  ),
  ended as (
    update public.webhook_deliveries delivery
    set status = 'canceled', waits = false, next_attempt_at = null, lease = null, leased_until = null
    where delivery.ctid = any (array(select place from locked))
    returning delivery.tenant_id, delivery.endpoint_id, delivery.target_id
  )
  update public.webhook_deliveries set waits = false
  where ctid = any (array(
    select place from first_waiting join ended using (tenant_id, endpoint_id, target_id)
  ));
end $$;
