-- Ends the job of an asset: deletes the job, frees its slot, and moves the asset to 'ready' or 'failed' with the audit
-- event; the quota counts the size of the file, or no longer counts the asset. Returns false and leaves the asset
-- unchanged when the lease is lost (end_job), or the asset is failed or deleted. So a late job cannot revive an asset.
-- Lock order: the asset, the job, the slot, the meter (change_asset).
create function rta.finish_asset(
  p_job rta.job,
  p_lease text,
  p_result rta.asset_result,
  p_audit_event rta.audit_event
) returns boolean
language plpgsql as $$
declare
  v_old rta.asset := rta.lock_asset(p_job.tenant_id, p_job.environment, p_job.target_id);
  v_new rta.asset := v_old;
  v_is_held boolean := rta.end_job(p_job, p_lease);
begin
  if (v_is_held and v_old.status in ('pending_upload', 'uploaded', 'processing')) is not true then
    return false;
  end if;
  v_new.status := p_result.status;
  v_new.error_code := p_result.error_code;
  v_new.error_detail := p_result.error_detail;
  v_new.updated_at := p_audit_event.created_at;
  if p_result.status = 'ready' then
    v_new.content_type := p_result.content_type;
    v_new.size_bytes := p_result.size_bytes;
    v_new.reserved_bytes := p_result.size_bytes;
    v_new.sha256 := p_result.sha256;
    v_new.public_type := p_result.public_type;
    v_new.duration_ms := p_result.duration_ms;
  end if;
  perform rta.change_asset(v_old, v_new, p_audit_event);
  return true;
end $$;
