-- Leases the deliveries of a claim: see claim_deliveries. choose_deliveries chooses and locks them; this function
-- writes the leases. Lock order: the calling function has locked the turns and the endpoints; deliveries (skip locked).
create function rta.lease_deliveries(
  p_now timestamptz,
  p_tenant_ids text[],   -- the tenants of the served endpoints, in the order in which they were found
  p_endpoint_ids text[],
  p_lease text,
  p_lease_seconds integer,
  p_limit integer,
  p_per_endpoint integer,
  p_per_tenant integer
) returns setof rta.claimed_delivery
language plpgsql as $$
declare
  -- The leased deliveries, in the order in which they were chosen.
  v_places tid[];
  v_ids text[];
  v_of_tenants text[];
  v_of_endpoints text[];
  -- The turns, and which of their tenants have an endpoint without a pause.
  v_turns text[];
  v_turn_times timestamptz[];
  v_served text[];
begin
  select chosen.* into v_places, v_ids, v_of_tenants, v_of_endpoints, v_turns, v_turn_times, v_served
  from rta.choose_deliveries(p_now, p_tenant_ids, p_endpoint_ids, p_limit, p_per_endpoint, p_per_tenant) chosen;

  -- This includes the turn of a tenant whose endpoints are all deleted or disabled: its deliveries were canceled, and
  -- other tenants come next.
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

  -- Each is read by its primary key. The endpoints are locked, so they are unchanged since the deliveries were chosen.
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
