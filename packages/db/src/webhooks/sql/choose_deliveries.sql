-- Chooses the deliveries that a claim leases, and locks them: see claim_deliveries. One statement, so that it counts
-- and chooses in one snapshot. Lock order: the calling function has locked the turns and the endpoints; deliveries
-- (skip locked).
create function rta.choose_deliveries(
  p_now timestamptz,
  p_tenant_ids text[],   -- the tenants of the served endpoints, in the order in which they were found
  p_endpoint_ids text[],
  p_limit integer,
  p_per_endpoint integer,
  p_per_tenant integer,
  -- The chosen deliveries, in their order; null without any.
  out places tid[], out ids text[], out of_tenants text[], out of_endpoints text[],
  -- The turns, and which of their tenants have an endpoint without a pause.
  out turns text[], out turn_times timestamptz[], out served_tenants text[]
)
language plpgsql as $$
begin
  with turn as materialized (
    select served.tenant_id, served.place, stored.claimed_at, (
      select count(*) from public.webhook_deliveries open
      where open.tenant_id = served.tenant_id collate "C" and open.leased_until > p_now
    ) as open
    from (
      select tenant_id, max(place) as place from unnest(p_tenant_ids) with ordinality served (tenant_id, place)
      group by tenant_id
    ) served
    cross join lateral (
      select claimed_at from public.webhook_turns stored where stored.tenant_id = served.tenant_id collate "C" offset 0
    ) stored
  ),
  served as materialized (
    select served.tenant_id, served.endpoint_id, stored.*, greatest(p_per_endpoint - (
      select count(*) from public.webhook_deliveries open
      where open.tenant_id = served.tenant_id collate "C" and open.endpoint_id = served.endpoint_id collate "C"
        and open.leased_until > p_now
    ), 0) as room
    from unnest(p_tenant_ids, p_endpoint_ids) served (tenant_id, endpoint_id)
    cross join lateral (
      select ordered, events, claimed_at from public.webhook_endpoints stored
      where stored.tenant_id = served.tenant_id collate "C" and stored.id = served.endpoint_id collate "C"
        and status = 'enabled' and coalesce(slow_until <= p_now, true)
      offset 0
    ) stored
  ),
  candidate as (
    select delivery.tenant_id, delivery.id, served.claimed_at,
      row_number() over (partition by served.tenant_id, served.endpoint_id order by delivery.place) as of_endpoint
    from served
    cross join lateral (
      select first.tenant_id, first.id, row_number() over () as place
      from (
        select due.tenant_id, due.id, due.endpoint_id, due.target_id, due.sequence, due.event_type
        from public.webhook_deliveries due
        where due.tenant_id = served.tenant_id collate "C" and due.endpoint_id = served.endpoint_id collate "C"
          and due.status = 'pending' and not due.waits and coalesce(due.leased_until, due.next_attempt_at) <= p_now
        order by due.tenant_id, due.endpoint_id, coalesce(due.leased_until, due.next_attempt_at), due.created_at, due.sequence
        limit case when served.ordered then 256 else 64 end
      ) first
      -- A test is sent even if its endpoint does not select the type.
      where (rta.selects(served.events, first.event_type) or first.event_type = 'webhook_endpoint.test') and not (
        served.ordered and exists (
          select from public.webhook_deliveries earlier
          where earlier.tenant_id = first.tenant_id and earlier.endpoint_id = first.endpoint_id
            and earlier.target_id = first.target_id and earlier.sequence < first.sequence and earlier.status = 'pending'
        )
      )
      limit served.room
    ) delivery
  ),
  share as (
    select candidate.tenant_id, candidate.id,
      row_number() over (partition by candidate.tenant_id order by of_endpoint, claimed_at nulls first, id) as of_tenant
    from candidate
  ),
  chosen as (
    select share.tenant_id, share.id, row_number() over (order by share.of_tenant, turn.claimed_at nulls first, turn.place) as place
    from share join turn on turn.tenant_id = share.tenant_id
    where share.of_tenant <= p_per_tenant - turn.open
    order by 3 limit p_limit
  ),
  locked as (
    select delivery.*, chosen.place as at from chosen
    cross join lateral (
      select stored.ctid as place, stored.tenant_id, stored.id, stored.endpoint_id from public.webhook_deliveries stored
      where stored.tenant_id = chosen.tenant_id and stored.id = chosen.id and stored.status = 'pending' and not stored.waits
        and coalesce(stored.leased_until, stored.next_attempt_at) <= p_now
      for no key update skip locked
    ) delivery
  )
  select leased.*, turn_list.*, (select array_agg(distinct tenant_id) from served)
  into places, ids, of_tenants, of_endpoints, turns, turn_times, served_tenants
  from (
    select array_agg(place order by at), array_agg(id order by at), array_agg(tenant_id order by at),
      array_agg(endpoint_id order by at)
    from locked
  ) leased, (select array_agg(tenant_id), array_agg(p_now + place * interval '1 microsecond') from turn) turn_list;
end $$;
