-- Unparks the next waiting delivery of each of these targets, where an earlier one has ended. A claim then examines it,
-- and parks it again if a still earlier one is pending. Called as a separate statement, after the one that ended the
-- deliveries, so that it sees all deliveries parked until then (park_deliveries).
--
-- Fails with 40001 when another transaction has locked one of them, because that transaction may wait for a delivery
-- that is locked here. Then nothing is written. finishDeliveries repeats the call, and lock_finished_deliveries waits
-- for that transaction. Lock order: the calling function has locked these deliveries, except those that were parked
-- since.
create function rta.unpark_deliveries(p_tenant_ids text[], p_endpoint_ids text[], p_target_ids text[]) returns void
language plpgsql as $$
declare
  v_are_locked boolean;
  v_places tid[]; -- the `ctid` of a locked row does not change
begin
  select bool_and(locked.place is not null), array_agg(locked.place) filter (where locked.waits) into v_are_locked, v_places
  from (
    select distinct tenant_id, endpoint_id, target_id
    from unnest(p_tenant_ids, p_endpoint_ids, p_target_ids) target (tenant_id, endpoint_id, target_id)
  ) target
  cross join lateral (
    select stored.tenant_id, stored.id from public.webhook_deliveries stored
    where stored.tenant_id = target.tenant_id collate "C" and stored.endpoint_id = target.endpoint_id collate "C"
      and stored.target_id = target.target_id collate "C" and stored.waits
    order by stored.tenant_id, stored.endpoint_id, stored.target_id, stored.sequence limit 1
  ) next
  left join lateral (
    select stored.ctid as place, stored.waits from public.webhook_deliveries stored
    where stored.tenant_id = next.tenant_id and stored.id = next.id
    offset 0 -- so that the planner reads by the primary key, not by the index of waiting deliveries: see report_usages
    for no key update skip locked
  ) locked on true;
  if not v_are_locked then
    raise serialization_failure using message = 'a delivery that waits is locked';
  end if;
  if v_places is not null then
    update public.webhook_deliveries set waits = false where ctid = any (v_places);
  end if;
end $$;
