-- Parks due deliveries of endpoints with order while an earlier event of the same target is pending. They leave the
-- index of due deliveries until that one ends (unpark_deliveries). So claims do not examine them repeatedly while the
-- earlier one waits for its next attempt, and 10,000 of them cost a claim no more than one.
--
-- The earlier one is locked first. The transaction that ends it waits for this claim, and then sees the parked
-- deliveries. If a transaction is ending it now, the later one is left to the next claim. So no delivery waits for one
-- that has ended. Lock order: the calling function has locked the turns and the endpoints; deliveries (skip locked).
create function rta.park_deliveries(p_now timestamptz, p_tenant_ids text[], p_endpoint_ids text[]) returns void
language plpgsql as $$
begin
  with blocked as (
    select delivery.tenant_id, delivery.id
    from unnest(p_tenant_ids, p_endpoint_ids) served (tenant_id, endpoint_id)
    cross join lateral (
      select from public.webhook_endpoints stored
      where stored.tenant_id = served.tenant_id collate "C" and stored.id = served.endpoint_id collate "C" and stored.ordered
      offset 0
    ) ordered
    cross join lateral (
      select due.tenant_id, due.id, due.endpoint_id, due.target_id, due.sequence
      from public.webhook_deliveries due
      where due.tenant_id = served.tenant_id collate "C" and due.endpoint_id = served.endpoint_id collate "C"
        and due.status = 'pending' and not due.waits and coalesce(due.leased_until, due.next_attempt_at) <= p_now
      order by due.tenant_id, due.endpoint_id, coalesce(due.leased_until, due.next_attempt_at), due.created_at, due.sequence
      limit 256
    ) delivery
    cross join lateral (
      select from public.webhook_deliveries earlier
      where earlier.tenant_id = delivery.tenant_id and earlier.endpoint_id = delivery.endpoint_id
        and earlier.target_id = delivery.target_id and earlier.sequence < delivery.sequence and earlier.status = 'pending'
      order by earlier.tenant_id, earlier.endpoint_id, earlier.target_id, earlier.sequence desc limit 1
      for share skip locked
    ) earlier
  ),
  locked as (
    select delivery.place from blocked
    cross join lateral (
      select stored.ctid as place from public.webhook_deliveries stored
      where stored.tenant_id = blocked.tenant_id and stored.id = blocked.id
        and stored.status = 'pending' and coalesce(stored.leased_until, stored.next_attempt_at) <= p_now
      for no key update skip locked
    ) delivery
  )
  update public.webhook_deliveries set waits = true, lease = null, leased_until = null
  where ctid = any (array(select place from locked));
end $$;
