-- Cancels deliveries that are due and are not to be sent: their endpoint is gone or disabled, or no longer selects their type. Up
-- to 1,000, and past those that are locked; the next claim goes on.
-- Lock order: the calling function has locked the turns; deliveries, skipping those that are locked.
create function rta.cancel_deliveries(p_now timestamptz, p_tenant_ids text[], p_endpoint_ids text[]) returns void
language plpgsql as $$
declare
  v_tenant_ids text[];
  v_endpoint_ids text[];
  v_target_ids text[];
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
  canceled as (
    select delivery.tenant_id, delivery.id from served
    cross join lateral (
      select due.tenant_id, due.id, due.event_type from public.webhook_deliveries due
      where due.tenant_id = served.tenant_id collate "C" and due.endpoint_id = served.endpoint_id collate "C"
        and due.status = 'pending' and not due.waits and coalesce(due.leased_until, due.next_attempt_at) <= p_now
      order by due.tenant_id, due.endpoint_id, coalesce(due.leased_until, due.next_attempt_at)
      limit case when served.is_enabled then case when served.events is null then 0 else 256 end else 1000 end
    ) delivery
    where not (served.is_enabled and rta.is_sent(served.events, delivery.event_type))
    union all
    -- What waits was due already.
    select delivery.tenant_id, delivery.id from served
    cross join lateral (
      select waiting.tenant_id, waiting.id from public.webhook_deliveries waiting
      where waiting.tenant_id = served.tenant_id collate "C" and waiting.endpoint_id = served.endpoint_id collate "C"
        and waiting.waits
      limit 1000
    ) delivery
    where not served.is_enabled
  ),
  locked as (
    select delivery.place from (select * from canceled limit 1000) canceled
    cross join lateral (
      select stored.ctid as place from public.webhook_deliveries stored
      where stored.tenant_id = canceled.tenant_id and stored.id = canceled.id
        and stored.status = 'pending' and coalesce(stored.leased_until, stored.next_attempt_at) <= p_now
      for no key update skip locked
    ) delivery
  ),
  ended as (
    update public.webhook_deliveries delivery
    set status = 'canceled', waits = false, next_attempt_at = null, lease = null, leased_until = null
    where delivery.ctid = any (array(select place from locked))
    returning delivery.tenant_id, delivery.endpoint_id, delivery.target_id
  )
  select array_agg(tenant_id), array_agg(endpoint_id), array_agg(target_id)
  into v_tenant_ids, v_endpoint_ids, v_target_ids from ended;
  if v_tenant_ids is not null then
    perform rta.unpark_deliveries(v_tenant_ids, v_endpoint_ids, v_target_ids);
  end if;
end $$;
