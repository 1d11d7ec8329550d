-- Deletes the job of an asset, an avatar or a video, if it exists. A running job loses its lease with its row, and
-- cannot finish. Its slot stays taken until its worker notices, so that the tenant never runs more jobs than it has
-- slots. Lock order: the calling function has locked the target; then its job.
create function rta.delete_job_of(p_tenant_id text, p_target_id text) returns void
language plpgsql as $$
begin
  delete from public.jobs where tenant_id = p_tenant_id and target_id = p_target_id;
end $$;
