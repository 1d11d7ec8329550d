-- Up to 32 tenants that have a job that is due and a free slot, in the order in which claim_job serves them, each with the
-- number of its slots that exist. See claim_job.
--
-- A subquery finds the next tenant with jobs by one step in the index, and its job that is due first. `limit` stops the
-- search. That `attempts >= 0` is true of all jobs: it is the condition of the index.
create function rta.tenants_to_serve(p_now timestamptz, p_slots integer) returns table (tenant_id text, slots integer)
language plpgsql as $$
declare
  v_last text := coalesce(
    (select slot.tenant_id from public.job_slots slot where slot.started_at <= p_now order by slot.started_at desc limit 1),
    ''
  );
begin
  return query
  with recursive behind (tenant_id, due_at) as (
    (
      select job.tenant_id, coalesce(job.leased_until, job.run_at) from public.jobs job
      where job.tenant_id > v_last and job.attempts >= 0
      order by job.tenant_id, coalesce(job.leased_until, job.run_at) limit 1
    )
    union all
    select next.tenant_id, next.due_at from behind cross join lateral (
      select job.tenant_id, coalesce(job.leased_until, job.run_at) as due_at from public.jobs job
      where job.tenant_id > behind.tenant_id and job.attempts >= 0
      order by job.tenant_id, coalesce(job.leased_until, job.run_at) limit 1
    ) next
  ),
  before (tenant_id, due_at) as (
    (
      select job.tenant_id, coalesce(job.leased_until, job.run_at) from public.jobs job
      where job.tenant_id <= v_last and job.attempts >= 0
      order by job.tenant_id, coalesce(job.leased_until, job.run_at) limit 1
    )
    union all
    select next.tenant_id, next.due_at from before cross join lateral (
      select job.tenant_id, coalesce(job.leased_until, job.run_at) as due_at from public.jobs job
      where job.tenant_id > before.tenant_id and job.tenant_id <= v_last and job.attempts >= 0
      order by job.tenant_id, coalesce(job.leased_until, job.run_at) limit 1
    ) next
  )
  select servable.tenant_id::text, servable.slots::integer
  from (
    select waiting.tenant_id, waiting.due_at, slot.slots, slot.started_at
    from (select * from behind union all select * from before) waiting
    cross join lateral (
      select count(*) as slots, count(*) filter (where leased_until > p_now) as taken, max(started_at) as started_at
      from public.job_slots where job_slots.tenant_id = waiting.tenant_id and slot <= p_slots
    ) slot
    where waiting.due_at <= p_now and slot.taken < p_slots
    limit 32
  ) servable
  order by servable.started_at nulls first, servable.due_at;
end $$;
