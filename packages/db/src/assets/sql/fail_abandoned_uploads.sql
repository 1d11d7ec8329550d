-- Fails signed uploads whose file has not arrived within 24 hours, with the code 'not_uploaded', and writes their audit
-- events. Returns the number of failed uploads, which is at most that of `p_event_ids`, the ids of the events. Locked
-- assets are skipped. Lock order: assets (skip locked), then their meters by primary key.
create function rta.fail_abandoned_uploads(
  p_event_ids text[],
  p_request_id text,
  p_created_at timestamptz,
  p_detail text
) returns integer
language plpgsql as $$
declare
  v_assets public.assets[] := array(
    select abandoned from public.assets abandoned
    where status = 'pending_upload' and remote_url is null and created_at <= now() - interval '24 hours'
    order by created_at limit cardinality(p_event_ids)
    for no key update skip locked
  );
  v_change record;
begin
  if cardinality(v_assets) = 0 then
    return 0;
  end if;
  update public.assets asset
  set status = 'failed', error_code = 'not_uploaded', error_detail = p_detail, version = asset.version + 1,
    updated_at = p_created_at
  from unnest(v_assets) abandoned
  where asset.tenant_id = abandoned.tenant_id and asset.id = abandoned.id;
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
        tenant_id, /* id */ p_event_ids[ordinality], environment, null, null, 'asset.failed', /* target_id */ id, '{}', p_request_id, p_created_at
      )::rta.audit_event
      from unnest(v_assets) with ordinality
    ),
    null,
    true
  );
  return cardinality(v_assets);
end $$;
