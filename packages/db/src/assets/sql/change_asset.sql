-- Writes the change of an asset from `p_old` to `p_new`, with a new version, corrects what the tenant's quota counts, writes
-- the audit event unless it is null, and returns the asset.
-- Lock order: the calling function has locked the asset; then the meter.
create function rta.change_asset(p_old rta.asset, p_new rta.asset, p_audit_event rta.audit_event) returns rta.asset
language plpgsql as $$
declare
  v_was_counted boolean := p_old.status not in ('failed', 'deleted');
  v_is_counted boolean := p_new.status not in ('failed', 'deleted');
  v_assets integer := v_is_counted::integer - v_was_counted::integer;
  v_bytes bigint := case when v_is_counted then p_new.reserved_bytes else 0 end
    - case when v_was_counted then p_old.reserved_bytes else 0 end;
begin
  p_new.version := p_old.version + 1;
  update public.assets set
    status = p_new.status, content_type = p_new.content_type, size_bytes = p_new.size_bytes, sha256 = p_new.sha256,
    public_type = p_new.public_type, reserved_bytes = p_new.reserved_bytes, error_code = p_new.error_code,
    error_detail = p_new.error_detail, duration_ms = p_new.duration_ms, version = p_new.version, updated_at = p_new.updated_at
  where tenant_id = p_old.tenant_id and id = p_old.id;
  if v_assets <> 0 or v_bytes <> 0 then
    update public.asset_meters set assets = assets + v_assets, bytes = bytes + v_bytes
    where tenant_id = p_old.tenant_id and environment = p_old.environment;
  end if;
  if p_audit_event.id is not null then
    perform rta.insert_audit_events(array[p_audit_event], null, true);
  end if;
  return p_new;
end $$;
