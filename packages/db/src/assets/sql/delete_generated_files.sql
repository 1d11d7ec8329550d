-- Deletes generated assets from before `p_created_before`, the oldest first, and writes their audit events. Assets from
-- which an avatar is built are kept. Returns the number of deleted assets, which is at most that of `p_event_ids`, the
-- ids of the events. Locked assets are skipped. Lock order: assets (skip locked), then their meters by primary key. The
-- assets are locked `for update`: see delete_asset.
create function rta.delete_generated_files(
  p_event_ids text[],
  p_request_id text,
  p_created_at timestamptz, -- the time of the events
  p_created_before timestamptz
) returns integer
language plpgsql as $$
declare
  v_assets public.assets[] := array(
    select old from public.assets old
    where status = 'ready' and origin = 'generated' and created_at < p_created_before
      -- The collation is that of the indexes. Without it, all avatars would be read.
      and not exists (
        select from public.avatars
        where avatars.tenant_id = old.tenant_id and source_asset_id = old.id collate "default" and avatars.status <> 'deleted'
      )
      and not exists (
        select from public.avatars
        where avatars.tenant_id = old.tenant_id and pending_source_asset_id = old.id collate "default" and avatars.status <> 'deleted'
      )
    order by created_at limit cardinality(p_event_ids)
    for update skip locked
  );
  v_change record;
begin
  if cardinality(v_assets) = 0 then
    return 0;
  end if;
  update public.assets asset
  set status = 'deleted', version = asset.version + 1, updated_at = p_created_at
  from unnest(v_assets) old
  where asset.tenant_id = old.tenant_id and asset.id = old.id;
  for v_change in
    select tenant_id, environment collate "C" as environment, count(*) as assets, sum(reserved_bytes)::bigint as bytes
    from unnest(v_assets) group by 1, 2 order by 1, 2
  loop
    update public.asset_meters set assets = assets - v_change.assets, bytes = bytes - v_change.bytes
    where tenant_id = v_change.tenant_id and environment = v_change.environment;
  end loop;
  perform rta.insert_audit_events(
    array(
      select row(
        tenant_id, /* id */ p_event_ids[ordinality], environment, null, null, 'asset.deleted', /* target_id */ id, '{}', p_request_id, p_created_at
      )::rta.audit_event
      from unnest(v_assets) with ordinality
    ),
    null,
    true
  );
  return cardinality(v_assets);
end $$;
