-- Gives back a job whose lease is still held, and frees its slot. The job can be claimed again after `p_delay`. Returns
-- false when the lease is lost: see end_job. Lock order: the calling function has locked the target, if it changes it;
-- then the job, and the slot.
create function rta.give_back_job(
  p_job rta.job,
  p_lease text,
  p_delay interval,
  p_error text,
  p_is_attempt boolean -- whether this claim counts as an attempt
) returns boolean
language plpgsql as $$
declare
  v_run_at timestamptz := date_trunc('milliseconds', clock_timestamp()) + p_delay;
  v_is_held boolean;
begin
  update public.jobs
  set lease = null, leased_until = null, run_at = v_run_at,
    last_error = left(p_error, 500), attempts = attempts - case when p_is_attempt then 0 else 1 end,
    -- An attempt that counts did not kill its worker.
    lost_leases = case when p_is_attempt then 0 else lost_leases end
  where tenant_id = p_job.tenant_id and id = p_job.id and lease = p_lease;
  v_is_held := found;
  perform rta.free_slot(p_job.tenant_id, p_lease);
  return v_is_held;
end $$;
