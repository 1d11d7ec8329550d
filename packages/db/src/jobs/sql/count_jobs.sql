-- The depth of the queue: the jobs that are due, and those that run, each counted up to 10,000; and for how many seconds the oldest
-- job is due of those that are not served, 0 when there is none. A tenant whose first slot is free counts as not served: a claim
-- takes the first slot that is free.
-- Both counts are read in the order of `jobs_available_index`, on each side of now.
create function rta.count_jobs() returns table (queued bigint, running bigint, oldest_seconds integer)
language plpgsql stable as $$
declare
  v_tenants text[] := array(select tenant_id from rta.tenants_to_serve(now(), 1));
begin
  return query select
    (
      select count(*) from (
        select from public.jobs where coalesce(leased_until, run_at) <= now()
        order by coalesce(leased_until, run_at) limit 10000
      ) due
    ),
    (
      select count(*) from (
        select leased_until from public.jobs where coalesce(leased_until, run_at) > now()
        order by coalesce(leased_until, run_at) limit 10000
      ) later
      where leased_until is not null
    ),
    coalesce((
      select floor(extract(epoch from now() - min(oldest.available)))
      from unnest(v_tenants) waiting (tenant_id)
      cross join lateral (
        select coalesce(leased_until, run_at) as available from public.jobs
        where jobs.tenant_id = waiting.tenant_id and attempts >= 0
        order by jobs.tenant_id, coalesce(leased_until, run_at) limit 1
      ) oldest
    ), 0)::integer;
end $$;
