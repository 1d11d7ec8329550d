-- Locks the endpoints that the outcomes of their deliveries may change, and then the deliveries that are still held,
-- with those that wait for one that ends. A working endpoint is not locked. Returns the ids of the locked endpoints.
--
-- One statement locks all deliveries, in one order. While it waits, a delivery can lose its lease. Such a delivery also
-- stays locked until the commit, and a call that needs it as the next delivery of its target waits. Lock order: the
-- endpoints, by primary key, then the deliveries, by primary key.
create function rta.lock_finished_deliveries(p_finished rta.finished_delivery[], p_failing_since timestamptz) returns text[]
language plpgsql as $$
declare
  v_tenant_ids text[];   -- for each delivery
  v_endpoint_ids text[]; -- null where the endpoint does not change
  v_waiting_ids text[];  -- null where no delivery waits
  v_locked text[];
begin
  select array_agg(delivery.tenant_id),
    array_agg(case
      when case
        when finished.outcome = 'delivered' then endpoint.failing_since is not null
        else finished.outcome = 'gone' or finished.slow_ms is not null
          or coalesce(endpoint.failing_since <= p_failing_since, true)
      end then delivery.endpoint_id
    end),
    array_agg(next.id)
  into v_tenant_ids, v_endpoint_ids, v_waiting_ids
  from unnest(p_finished) finished
  cross join lateral (
    select stored.tenant_id, stored.endpoint_id, stored.target_id, stored.lease from public.webhook_deliveries stored
    where stored.tenant_id = finished.tenant_id and stored.id = finished.id
    offset 0
  ) delivery
  left join lateral (
    select failing_since from public.webhook_endpoints stored
    where stored.tenant_id = delivery.tenant_id and stored.id = delivery.endpoint_id
    offset 0
  ) endpoint on true
  left join lateral (
    select stored.id from public.webhook_deliveries stored
    where stored.tenant_id = delivery.tenant_id and stored.endpoint_id = delivery.endpoint_id
      and stored.target_id = delivery.target_id and stored.waits
      and delivery.lease = finished.lease and finished.outcome <> 'retry'
    order by stored.tenant_id, stored.endpoint_id, stored.target_id, stored.sequence limit 1
  ) next on true;

  if array_remove(v_endpoint_ids, null) <> '{}' then
    select array_agg(changed.id) into v_locked from (
      select distinct tenant_id collate "C" as tenant_id, id collate "C" as id
      from unnest(v_tenant_ids, v_endpoint_ids) changed (tenant_id, id)
      where id is not null
      order by 1, 2
    ) changed
    cross join lateral (
      select from public.webhook_endpoints stored
      where stored.tenant_id = changed.tenant_id and stored.id = changed.id for no key update
    ) locked;
  end if;

  perform from (
    select tenant_id, id, lease from unnest(p_finished)
    union all
    select tenant_id, id, null from unnest(v_tenant_ids, v_waiting_ids) waiting (tenant_id, id) where id is not null
    order by 1, 2
  ) needed
  cross join lateral (
    select from public.webhook_deliveries stored
    where stored.tenant_id = needed.tenant_id and stored.id = needed.id and (needed.lease is null or stored.lease = needed.lease)
    for no key update
  ) locked;
  return v_locked;
end $$;
