-- Starts the job of an asset and returns the asset. An 'uploaded' asset becomes 'processing'. A remote asset stays
-- 'pending_upload' while it is fetched, because its file has not arrived. Returns no row when the asset is deleted or
-- failed, or the lease is lost. Writes no audit event: the processing is part of the upload or the import, and its end
-- is recorded. Lock order: the asset. The job is only read: finish_asset finds a lease that is lost later.
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
