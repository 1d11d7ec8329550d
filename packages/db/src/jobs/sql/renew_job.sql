-- Extends the lease of a job, and of its slot. Returns false when either is lost. Then the worker must stop, because
-- another worker may run the job, or the tenant would run more jobs than it has slots. Lock order: the job, then the
-- slot.
create function rta.renew_job(p_job rta.job, p_lease text, p_lease_seconds integer) returns boolean
language plpgsql as $$
declare
  v_until timestamptz;
begin
  perform from public.jobs where tenant_id = p_job.tenant_id and id = p_job.id and lease = p_lease for no key update;
  if not found then
    perform rta.free_slot(p_job.tenant_id, p_lease);
    return false;
  end if;
  v_until := date_trunc('milliseconds', clock_timestamp()) + make_interval(secs => p_lease_seconds);
  update public.job_slots set leased_until = v_until where tenant_id = p_job.tenant_id and lease = p_lease;
  if not found then
    return false;
  end if;
  update public.jobs set leased_until = v_until where tenant_id = p_job.tenant_id and id = p_job.id;
  return true;
end $$;
