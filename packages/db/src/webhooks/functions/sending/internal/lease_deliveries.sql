-- Leases the deliveries of a claim: see claim_deliveries. They are chosen and locked by one statement, and written by others.
-- Lock order: the calling function has locked the turns and the endpoints; deliveries, skipping those that are locked.
create function rta.lease_deliveries(
  p_now timestamptz,
  p_tenant_ids text[],   -- of the endpoints that are served, in the order in which they were found
  p_endpoint_ids text[],
  p_lease text,
  p_lease_seconds integer,
  p_limit integer,
  p_per_endpoint integer,
  p_per_tenant integer
) returns setof rta.claimed_delivery
language plpgsql as $$
declare
  -- The deliveries that are leased, in the order in which they were chosen.
  v_places tid[];
  v_ids text[];
  v_of_tenants text[];
  v_of_endpoints text[];
  -- The turns, and which of their tenants have an endpoint that may be sent to.
  v_turns text[];
  v_turn_times timestamptz[];
  v_served text[];
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
      where rta.is_sent(served.events, first.event_type) and not (
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
  select leased.*, turns.*, (select array_agg(distinct tenant_id) from served)
  into v_places, v_ids, v_of_tenants, v_of_endpoints, v_turns, v_turn_times, v_served
  from (
    select array_agg(place order by at), array_agg(id order by at), array_agg(tenant_id order by at),
      array_agg(endpoint_id order by at)
    from locked
  ) leased, (select array_agg(tenant_id), array_agg(p_now + place * interval '1 microsecond') from turn) turns;

  -- Also the turn of a tenant whose endpoints are all gone or disabled: its deliveries were canceled, and others come next.
  update public.webhook_turns stored set claimed_at = turn.claimed_at
  from unnest(v_turns, v_turn_times) turn (tenant_id, claimed_at)
  where stored.tenant_id = turn.tenant_id collate "C"
    and (turn.tenant_id = any (v_of_tenants) or (turn.tenant_id = any (v_served)) is not true);
  if v_places is null then
    return;
  end if;
  update public.webhook_endpoints endpoint set claimed_at = p_now
  from (select distinct tenant_id, id from unnest(v_of_tenants, v_of_endpoints) leased (tenant_id, id)) leased
  where endpoint.tenant_id = leased.tenant_id collate "C" and endpoint.id = leased.id collate "C";
  update public.webhook_deliveries
  set lease = p_lease, leased_until = p_now + make_interval(secs => p_lease_seconds)
  where ctid = any (v_places);

  -- Each by its primary key. The endpoints are locked: they are as they were when the deliveries were chosen.
  return query
  select delivery.tenant_id::text, delivery.environment, delivery.id::text, delivery.endpoint_id::text,
    delivery.event_id::text, delivery.event_type, delivery.target_id::text, delivery.sequence, event.created_at, event.body,
    delivery.attempt_count, endpoint.url, endpoint.secret,
    case when endpoint.previous_secret_expires_at > p_now then endpoint.previous_secret end
  from unnest(v_of_tenants, v_ids) with ordinality leased (tenant_id, id, at)
  cross join lateral (
    select * from public.webhook_deliveries stored
    where stored.tenant_id = leased.tenant_id collate "C" and stored.id = leased.id collate "C"
    offset 0
  ) delivery
  cross join lateral (
    select * from public.webhook_endpoints stored
    where stored.tenant_id = delivery.tenant_id and stored.id = delivery.endpoint_id
    offset 0
  ) endpoint
  cross join lateral (
    select created_at, body from public.webhook_events stored
    where stored.tenant_id = delivery.tenant_id and stored.id = delivery.event_id
    offset 0
  ) event
  order by leased.at;
end $$;
