-- Checks the source assets of the avatars whose outcome is 'written' so far, and returns the outcome of every write.
-- The claim of a refused write is deleted.
--
-- An asset need not have arrived. It must belong to the avatar's tenant and environment. A test asset (TEST_ASSETS of
-- the domain) can be the source of every avatar in the environment test; the service checks whether it exists.
--
-- `for key share` waits for a deletion, which locks its asset `for update`. So either the deletion waits and finds the
-- avatar, or the write finds the asset deleted. This lock and the worker's changes of an asset do not wait for each
-- other. A write whose caller expires during the wait is 'stale'. Lock order: assets by primary key.
create function rta.check_sources(
  p_callers rta.caller[],
  p_caller_at integer[],            -- for each write, the position of its caller in p_callers
  p_valid_until timestamptz[],      -- for each write, until when its caller is valid
  p_avatars rta.avatar[],
  p_claims rta.claim[],             -- for each write; null when no write of the batch has an Idempotency-Key
  p_audit_events rta.audit_event[],
  p_outcomes rta.write_outcome[]    -- for each write, so far
) returns rta.write_outcome[]
language plpgsql as $$
declare
  v_kinds text[];
  v_is_refused boolean := false;
begin
  -- A subquery with a lock runs for one row after the other, by the primary key. So the plan does not depend on the
  -- size of the table when it was made.
  perform from (
    select distinct tenant_id collate "C" as tenant_id, source_asset_id collate "C" as id
    from unnest(p_avatars) with ordinality
    where source_asset_id is not null and p_outcomes[ordinality].kind = 'written'
    order by 1, 2
  ) source
  cross join lateral (
    select from public.assets asset where asset.tenant_id = source.tenant_id and asset.id = source.id for key share
  ) locked;

  -- A separate statement with a newer snapshot. It sees the deletions that the locks have waited for.
  v_kinds := array(
    select case
      when p_outcomes[avatar.ordinality].kind <> 'written' or avatar.source_asset_id is null
        then p_outcomes[avatar.ordinality].kind
      when p_valid_until[avatar.ordinality] <= clock_timestamp() then 'stale'
      when avatar.environment = 'test' and avatar.source_asset_id like 'ast\_test\_%' then 'written'
      when source.kind is null then 'asset_not_found'
      when source.kind <> avatar.source_kind then 'asset_kind_mismatch'
      when source.status in ('failed', 'deleted') then 'asset_not_usable'
      else 'written'
    end
    from unnest(p_avatars) with ordinality avatar
    left join lateral (
      select asset.kind, asset.status from public.assets asset
      where asset.tenant_id = avatar.tenant_id and asset.id = avatar.source_asset_id
        and asset.environment = avatar.environment
      offset 0
    ) source on true
    order by avatar.ordinality
  );
  for v_at in 1 .. cardinality(p_outcomes) loop
    if v_kinds[v_at] <> p_outcomes[v_at].kind then
      p_outcomes[v_at].kind := v_kinds[v_at];
      v_is_refused := true;
    end if;
  end loop;
  if v_is_refused and p_claims is not null then
    perform rta.delete_refused_claims(p_callers, p_caller_at, p_claims, p_audit_events, p_outcomes);
  end if;
  return p_outcomes;
end $$;
