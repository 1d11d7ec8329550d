-- Up to `p_limit` endpoints with a due delivery that may be sent, or must be canceled because the endpoint is deleted
-- or disabled. The search begins after the last served tenant, and goes on from the first, so each tenant gets its turn
-- when there are more. `place`: the position in that order.
--
-- A subquery finds the next endpoint with deliveries by one step in the index, and its delivery that is due first: 5 us of the
-- server for each endpoint that has pending deliveries, whatever their number. `limit` stops the search.
create function rta.endpoints_to_serve(p_now timestamptz, p_limit integer, p_per_endpoint integer, p_per_tenant integer)
returns table (tenant_id text, endpoint_id text, is_enabled boolean, due_at timestamptz, place bigint)
language plpgsql as $$
declare
  v_last text := coalesce(
    (select turn.tenant_id from public.webhook_turns turn where turn.claimed_at is not null order by turn.claimed_at desc limit 1),
    ''
  );
begin
  return query
  with recursive behind (tenant_id, endpoint_id, due_at) as (
    (
      select due.tenant_id, due.endpoint_id, coalesce(due.leased_until, due.next_attempt_at)
      from public.webhook_deliveries due
      where due.status = 'pending' and not due.waits and due.tenant_id > v_last
      order by due.tenant_id, due.endpoint_id, coalesce(due.leased_until, due.next_attempt_at) limit 1
    )
    union all
    select next.tenant_id, next.endpoint_id, next.due_at from behind cross join lateral (
      select due.tenant_id, due.endpoint_id, coalesce(due.leased_until, due.next_attempt_at) as due_at
      from public.webhook_deliveries due
      where due.status = 'pending' and not due.waits
        and (due.tenant_id, due.endpoint_id) > (behind.tenant_id, behind.endpoint_id)
      order by due.tenant_id, due.endpoint_id, coalesce(due.leased_until, due.next_attempt_at) limit 1
    ) next
  ),
  before (tenant_id, endpoint_id, due_at) as (
    (
      select due.tenant_id, due.endpoint_id, coalesce(due.leased_until, due.next_attempt_at)
      from public.webhook_deliveries due
      where due.status = 'pending' and not due.waits and due.tenant_id <= v_last
      order by due.tenant_id, due.endpoint_id, coalesce(due.leased_until, due.next_attempt_at) limit 1
    )
    union all
    select next.tenant_id, next.endpoint_id, next.due_at from before cross join lateral (
      select due.tenant_id, due.endpoint_id, coalesce(due.leased_until, due.next_attempt_at) as due_at
      from public.webhook_deliveries due
      where due.status = 'pending' and not due.waits and due.tenant_id <= v_last
        and (due.tenant_id, due.endpoint_id) > (before.tenant_id, before.endpoint_id)
      order by due.tenant_id, due.endpoint_id, coalesce(due.leased_until, due.next_attempt_at) limit 1
    ) next
  )
  select found.tenant_id::text, found.endpoint_id::text, found.is_enabled, found.due_at, row_number() over ()
  from (
    select waiting.tenant_id, waiting.endpoint_id, waiting.due_at, coalesce(endpoint.status = 'enabled', false) as is_enabled
    from (select * from behind union all select * from before) waiting
    left join lateral (
      select status, slow_until from public.webhook_endpoints stored
      where stored.tenant_id = waiting.tenant_id and stored.id = waiting.endpoint_id
      offset 0
    ) endpoint on true
    where waiting.due_at <= p_now
      and coalesce(endpoint.slow_until <= p_now, true)
      and (
        endpoint.status is distinct from 'enabled'
        or (
          select count(*) from public.webhook_deliveries open
          where open.tenant_id = waiting.tenant_id and open.endpoint_id = waiting.endpoint_id and open.leased_until > p_now
        ) < p_per_endpoint
        and (
          select count(*) from public.webhook_deliveries open
          where open.tenant_id = waiting.tenant_id and open.leased_until > p_now
        ) < p_per_tenant
      )
    limit p_limit
  ) found;
end $$;
