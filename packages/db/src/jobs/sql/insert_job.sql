-- Writes the new job of a write, if it has one.
create function rta.insert_job(p_job rta.job) returns void
language plpgsql as $$
begin
  if p_job.id is not null then
    insert into public.jobs (tenant_id, id, environment, kind, target_id, generation, run_at, created_at)
    values (
      p_job.tenant_id, p_job.id, p_job.environment, p_job.kind, p_job.target_id, p_job.generation, p_job.run_at,
      date_trunc('milliseconds', clock_timestamp())
    );
  end if;
end $$;
