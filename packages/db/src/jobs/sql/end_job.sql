-- Deletes a job whose lease is still held, and frees its slot. Returns false when the lease is lost: another worker has
-- claimed the job, or it has been deleted with its target. A lease that has run out but that no other claim has
-- replaced is still held, because the work is done. Lock order: the calling function has locked the target; then the
-- job, and the slot.
create function rta.end_job(p_job rta.job, p_lease text) returns boolean
language plpgsql as $$
declare
  v_is_held boolean;
begin
  delete from public.jobs where tenant_id = p_job.tenant_id and id = p_job.id and lease = p_lease;
  v_is_held := found;
  perform rta.free_slot(p_job.tenant_id, p_lease);
  return v_is_held;
end $$;
