-- The asset of a job that begins: an 'uploaded' one becomes 'processing'. A remote one stays 'pending_upload' while it is
-- fetched, because its file is not there. No row when the asset is deleted or has ended otherwise, or the lease is lost.
-- No audit event: the processing is part of the upload or the import, and its end is recorded.
-- Lock order: the asset. The job is only read: a lease that is lost later is found by finish_asset.
create function rta.start_asset(p_job rta.job, p_lease text) returns setof rta.asset
language plpgsql as $$
declare
  v_old rta.asset := rta.lock_asset(p_job.tenant_id, p_job.environment, p_job.target_id);
  v_new rta.asset := v_old;
begin
  if not exists (
    select from public.jobs where tenant_id = p_job.tenant_id and id = p_job.id and lease = p_lease
  ) then
    return;
  end if;
  if v_old.status = 'uploaded' then
    v_new.status := 'processing';
    v_new.updated_at := date_trunc('milliseconds', clock_timestamp());
    v_new := rta.change_asset(v_old, v_new, null);
  end if;
  if v_new.status in ('pending_upload', 'processing') then
    return next v_new;
  end if;
end $$;
