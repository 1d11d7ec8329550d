-- Locks the free slots that the requests can take (lock_call_slots), and finds the place of each request in the queue: null for requests that start
-- no call (`p_calls` null).
--
-- A ticket lives six seconds after its last poll. Tenants take turns: a new ticket has the turn after that of the
-- tenant's last one, and at least the present one (place_calls). So a tenant with a hundred tickets does not delay one
-- with a single ticket. A request has the ticket that it names, if the ticket belongs to its key and no earlier request
-- of the batch names it. Otherwise it takes over the oldest ticket of an equal request that was not polled for a second
-- and a half, because the published SDK never names its ticket. The order is that at the start of the batch.
--
-- Lock order: the slots (skip locked). The calling function has locked the meters, so the tickets of the callers' keys
-- stay as they are.
create function rta.queue_of_calls(
  p_callers rta.charged_caller[],
  p_caller_at integer[],        -- for each request, the position of its caller
  p_calls rta.call_request[]
) returns rta.call_queue
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_queue rta.call_queue;
begin
  if p_calls is null then
    return null;
  end if;
  v_queue.slots := rta.lock_call_slots(p_calls);
  with live as materialized (
    select tenant_id, id, api_key_id, fingerprint, turn, polled_at, test_polls from public.call_tickets
    where polled_at > v_now - interval '6 seconds'
  ), places as materialized (
    select tenant_id, id, turn, row_number() over (order by turn, id) - 1 as ahead
    from live where coalesce(test_polls, 3) > 2
  ), requests as materialized (
    select ordinality as at, caller.tenant_id, caller.api_key_id, ticket_id, fingerprint, is_queued
    from unnest(p_calls) with ordinality call left join unnest(p_callers) caller on caller.caller_at = p_caller_at[ordinality]
  ), named as materialized (
    select distinct on (live.tenant_id, live.id) at, live.tenant_id, live.id, test_polls
    from requests join live on live.tenant_id = requests.tenant_id and live.id = ticket_id
      and live.api_key_id = requests.api_key_id
    order by live.tenant_id, live.id, at
  ), nameless as (
    select at, tenant_id, fingerprint, row_number() over (partition by tenant_id, fingerprint order by at) as nth
    from requests where at not in (select at from named)
  ), adoptable as (
    select tenant_id, id, fingerprint, test_polls, row_number() over (partition by tenant_id, fingerprint order by id) as nth
    from live where polled_at <= v_now - interval '1.5 seconds' and (tenant_id, id) not in (select tenant_id, id from named)
  ), tickets as (
    select at, tenant_id, id, test_polls from named
    union all
    select at, tenant_id, id, test_polls from nameless join adoptable using (tenant_id, fingerprint, nth)
  )
  select (select count(*) from places), (select coalesce(min(turn), 0) from places),
    array_agg(tickets.id order by at),
    array_agg(
      case when is_queued and coalesce(tickets.test_polls, 0) < 2 then 2147483647 else coalesce(ahead, (select count(*) from places)) end
      order by at
    )
  into v_queue.size, v_queue.turn, v_queue.ticket_ids, v_queue.aheads
  from requests
  left join tickets using (at)
  left join places on places.tenant_id = tickets.tenant_id and places.id = tickets.id;
  v_queue.free_slots := cardinality(v_queue.slots);
  if v_queue.size > 0 and v_queue.free_slots > 0 then
    select count(*) into v_queue.free_slots
    from fleet.avatar_slots slot
    join fleet.avatar_workers worker on worker.id = slot.worker_id and worker.lease_until > v_now and slot.n <= worker.slots
    where slot.session_id is null;
  end if;
  return v_queue;
end $$;
