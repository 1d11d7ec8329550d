-- Locks the endpoints that the outcomes of their deliveries may change, and then the deliveries that are still held. An endpoint that
-- does not fail is not locked. Returns the ids of the endpoints: those that failed since `p_failing_since` are among them.
-- Lock order: the endpoints, by primary key, then the deliveries.
create function rta.lock_finished_deliveries(p_finished rta.finished_delivery[], p_failing_since timestamptz) returns text[]
language plpgsql as $$
declare
  v_locked text[];
begin
  select array_agg(changed.endpoint_id) into v_locked from (
    select distinct delivery.tenant_id, delivery.endpoint_id
    from unnest(p_finished) finished
    cross join lateral (
      select stored.tenant_id, stored.endpoint_id from public.webhook_deliveries stored
      where stored.tenant_id = finished.tenant_id and stored.id = finished.id
      offset 0
    ) delivery
    cross join lateral (
      select failing_since from public.webhook_endpoints stored
      where stored.tenant_id = delivery.tenant_id and stored.id = delivery.endpoint_id
      offset 0
    ) endpoint
    where case
      when finished.outcome = 'delivered' then endpoint.failing_since is not null
      else finished.outcome = 'gone' or finished.slow_ms is not null
        or coalesce(endpoint.failing_since <= p_failing_since, true)
    end
    order by 1, 2
  ) changed
  cross join lateral (
    select from public.webhook_endpoints stored
    where stored.tenant_id = changed.tenant_id and stored.id = changed.endpoint_id for no key update
  ) locked;

  perform from unnest(p_finished) finished
  join public.webhook_deliveries delivery on delivery.tenant_id = finished.tenant_id and delivery.id = finished.id
  where delivery.lease = finished.lease
  order by delivery.tenant_id, delivery.id for no key update of delivery;
  return v_locked;
end $$;
