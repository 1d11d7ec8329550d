-- Ends the job of a preparation: deletes the job, frees its slot, and writes the result to the avatar with the audit
-- event (end_preparation). Returns false and leaves the avatar unchanged when the lease is lost (end_job), the avatar
-- is deleted, or another generation is prepared. So a late job cannot revive an avatar. Lock order: the avatar, the
-- job, the slot.
create function rta.finish_preparation(
  p_job rta.job,
  p_lease text,
  p_result rta.preparation_result,
  p_audit_event rta.audit_event
) returns boolean
language plpgsql as $$
declare
  v_old rta.avatar := rta.lock_avatar(p_job.tenant_id, p_job.environment, p_job.target_id);
begin
  if not rta.end_job(p_job, p_lease) then
    return false;
  end if;
  return rta.end_preparation(v_old, p_job, p_result, p_audit_event);
end $$;
