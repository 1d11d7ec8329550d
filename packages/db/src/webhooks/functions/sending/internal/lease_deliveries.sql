-- Leases the deliveries of a claim: see claim_deliveries.
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
begin
  return query
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
      select ordered, events, claimed_at, url, secret,
        case when previous_secret_expires_at > p_now then previous_secret end as previous_secret
      from public.webhook_endpoints stored
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
    select delivery.place from chosen
    cross join lateral (
      select stored.ctid as place from public.webhook_deliveries stored
      where stored.tenant_id = chosen.tenant_id and stored.id = chosen.id and stored.status = 'pending' and not stored.waits
        and coalesce(stored.leased_until, stored.next_attempt_at) <= p_now
      for no key update skip locked
    ) delivery
  ),
  leased as (
    update public.webhook_deliveries delivery
    set lease = p_lease, leased_until = p_now + make_interval(secs => p_lease_seconds)
    where delivery.ctid = any (array(select place from locked))
    returning delivery.*
  ),
  served_endpoint as (
    update public.webhook_endpoints endpoint set claimed_at = p_now
    from (select distinct tenant_id, endpoint_id from leased) leased
    where endpoint.tenant_id = leased.tenant_id and endpoint.id = leased.endpoint_id
  ),
  served_turn as (
    -- Also of a tenant whose endpoints are all gone or disabled: its deliveries were canceled, and others come next.
    update public.webhook_turns stored set claimed_at = p_now + turn.place * interval '1 microsecond'
    from turn where stored.tenant_id = turn.tenant_id collate "C" and (
      turn.tenant_id in (select tenant_id from leased) or turn.tenant_id not in (select tenant_id from served)
    )
  )
  select leased.tenant_id::text, leased.environment, leased.id::text, leased.endpoint_id::text, leased.event_id::text,
    leased.event_type, leased.target_id::text, leased.sequence, event.created_at, event.body, leased.attempt_count,
    served.url, served.secret, served.previous_secret
  from leased
  join chosen on chosen.tenant_id = leased.tenant_id and chosen.id = leased.id
  join served on served.tenant_id = leased.tenant_id and served.endpoint_id = leased.endpoint_id
  cross join lateral (
    select created_at, body from public.webhook_events stored
    where stored.tenant_id = leased.tenant_id and stored.id = leased.event_id
    offset 0
  ) event
  order by chosen.place;
end $$;
