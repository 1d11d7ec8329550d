-- Writes the new jobs of those writes whose outcome is 'written'. An element of `p_jobs` is null when its write has no job.
create function rta.insert_jobs(p_jobs rta.job[], p_outcomes rta.write_outcome[]) returns void
language plpgsql as $$
begin
  insert into public.jobs (tenant_id, id, environment, kind, target_id, generation, run_at, created_at)
  select tenant_id, id, environment, kind, target_id, generation, run_at, date_trunc('milliseconds', clock_timestamp())
  from unnest(p_jobs) with ordinality
  where id is not null and p_outcomes[ordinality].kind = 'written';
end $$;
