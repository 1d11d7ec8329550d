-- Ends an attempt that has not finished its job: gives the job back, or deletes it after its last attempt. The
-- parameters and the result are those of retry_job. Lock order: the calling function has locked the target; then the
-- job, and the slot.
create function rta.end_attempt(p_job rta.job, p_lease text, p_error text, p_delay_ms integer, p_max_attempts integer)
returns text
language plpgsql as $$
declare
  v_attempts integer;
begin
  -- Null when the lease is lost.
  select attempts into v_attempts from public.jobs
  where tenant_id = p_job.tenant_id and id = p_job.id and lease = p_lease
  for update;
  if v_attempts >= p_max_attempts then
    perform rta.end_job(p_job, p_lease);
    return 'exhausted';
  end if;
  return case
    when rta.give_back_job(
      p_job, p_lease, make_interval(secs => p_delay_ms / 1000.0), p_error, p_max_attempts is not null
    ) then 'retried'
    else 'lost'
  end;
end $$;
