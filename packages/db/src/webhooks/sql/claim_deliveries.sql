-- Claims up to `p_limit` deliveries for a worker, which holds each until its lease ends. Returns them with their
-- content. At most `p_per_endpoint` deliveries of one endpoint, and `p_per_tenant` of one tenant, are held at once, by
-- all workers together.
--
-- Tenants with a due delivery get equal shares. When the limit does not suffice for all, those that were served longest
-- ago come first. The same holds for the endpoints of a tenant. Up to `p_limit` endpoints, and at least 64, are
-- examined, from the one after the last served tenant (endpoints_to_serve). Within an endpoint, the delivery that is
-- due longest comes first. Among deliveries with equal times, the one whose event happened first comes first.
--
-- The endpoint is read at each claim. A delivery whose endpoint is deleted or disabled, or no longer selects its type,
-- is canceled. For an endpoint with order, only the first pending delivery of each target is claimed; the others are
-- parked. While nothing is due, one entry of an index is read, and one of the index of recoveries.
--
-- Before that, the next deliveries of recoveries become due (release_recoveries).
--
-- Lock order: the turns of the tenants, the endpoints, their deliveries. Locked rows are skipped.
create function rta.claim_deliveries(
  p_lease text,
  p_lease_seconds integer,
  p_limit integer,
  p_per_endpoint integer,
  p_per_tenant integer
) returns setof rta.claimed_delivery
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_tenant_ids text[];
  v_endpoint_ids text[];
begin
  perform rta.release_recoveries(v_now);
  -- Ordered, so that one entry of the index is read, instead of the table until a due delivery.
  if (
    select coalesce(due.leased_until, due.next_attempt_at) from public.webhook_deliveries due
    where due.status = 'pending' and not due.waits
    order by coalesce(due.leased_until, due.next_attempt_at) limit 1
  ) <= v_now is not true then
    return;
  end if;

  select array_agg(tenant_id order by place), array_agg(endpoint_id order by place) into v_tenant_ids, v_endpoint_ids
  from rta.endpoints_to_serve(v_now, greatest(p_limit, 64), p_per_endpoint, p_per_tenant);
  select array_agg(served.tenant_id order by place), array_agg(served.endpoint_id order by place)
  into v_tenant_ids, v_endpoint_ids
  from (
    select turn.tenant_id from public.webhook_turns turn
    where turn.tenant_id = any (v_tenant_ids) for no key update skip locked
  ) turn
  join unnest(v_tenant_ids, v_endpoint_ids) with ordinality served (tenant_id, endpoint_id, place)
    on served.tenant_id = turn.tenant_id;
  -- An endpoint that another transaction has locked is not served. A deleted endpoint has no row to lock.
  select array_agg(tenant_id order by place), array_agg(endpoint_id order by place) into v_tenant_ids, v_endpoint_ids
  from unnest(v_tenant_ids, v_endpoint_ids) with ordinality served (tenant_id, endpoint_id, place)
  left join lateral (
    select true as is_locked from public.webhook_endpoints stored
    where stored.tenant_id = served.tenant_id collate "C" and stored.id = served.endpoint_id collate "C"
    for no key update skip locked
  ) locked on true
  where locked.is_locked or not exists (
    select from public.webhook_endpoints stored
    where stored.tenant_id = served.tenant_id collate "C" and stored.id = served.endpoint_id collate "C"
    offset 0
  );
  if v_tenant_ids is null then
    return;
  end if;

  -- Each statement below has a newer snapshot: it sees all that was committed before the turns were locked.
  perform rta.cancel_deliveries(v_now, v_tenant_ids, v_endpoint_ids);
  perform rta.park_deliveries(v_now, v_tenant_ids, v_endpoint_ids);
  return query select * from rta.lease_deliveries(
    v_now, v_tenant_ids, v_endpoint_ids, p_lease, p_lease_seconds, p_limit, p_per_endpoint, p_per_tenant
  );
end $$;
