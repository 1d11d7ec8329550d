-- Deletes the events of these targets that are too old and that no delivery needs. The last event of a target keeps its
-- row, without its body, unless it is the end of the target. Called as a separate statement, after the one that deleted
-- the deliveries.
--
-- The ids of an event and of its deliveries have the same time in their first ten characters, so the deliveries of an
-- event are found in the primary key. Lock order: events by primary key.
create function rta.sweep_events(p_tenant_ids text[], p_target_ids text[], p_first_kept_id text) returns void
language plpgsql as $$
begin
  with unneeded as (
    select event.tenant_id, event.id, not event.has_ended and not exists (
      select from public.webhook_events later
      where later.tenant_id = event.tenant_id and later.target_id = event.target_id and later.sequence > event.sequence
    ) as is_last
    from (
      select distinct * from unnest(p_tenant_ids, p_target_ids) target (tenant_id, target_id)
    ) target
    cross join lateral (
      select stored.tenant_id, stored.id, stored.target_id, stored.sequence,
        stored.type in ('avatar.deleted', 'asset.deleted', 'api_key.revoked', 'usage_session.ended') as has_ended
      from public.webhook_events stored
      where stored.tenant_id = target.tenant_id collate "C" and stored.target_id = target.target_id collate "C"
        and stored.id < p_first_kept_id collate "C"
      order by stored.tenant_id, stored.target_id, stored.sequence
      offset 0
    ) event
    where not exists (
      select from public.webhook_deliveries delivery
      where delivery.tenant_id = event.tenant_id and delivery.event_id = event.id
        and delivery.id >= 'whd_' || substr(event.id, 5, 10) and delivery.id < 'whd_' || substr(event.id, 5, 10) || '~'
    )
  ),
  locked as (
    select event.place, unneeded.is_last from (select * from unneeded order by tenant_id, id) unneeded
    cross join lateral (
      select stored.ctid as place from public.webhook_events stored
      where stored.tenant_id = unneeded.tenant_id and stored.id = unneeded.id
      for update
    ) event
  ),
  emptied as (
    update public.webhook_events set body = null
    where ctid = any (array(select place from locked where is_last)) and body is not null
  )
  delete from public.webhook_events where ctid = any (array(select place from locked where not is_last));
end $$;
