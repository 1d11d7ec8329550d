-- The depth of the queue: the jobs that are due, and those that run, each counted up to 10,000; and for how many seconds the oldest
-- job is due of those that are not served, 0 when there is none. A tenant whose first slot for the job is free counts as not served: a claim
-- takes the first slot that is free.
-- Both counts are read in the order of `jobs_available_index`, on each side of now.
create function rta.count_jobs(p_kinds text[]) returns table (queued bigint, running bigint, oldest_seconds integer)
language plpgsql stable as $$
declare
  v_oldest timestamptz := (
    select min(due_at) from rta.tenants_to_serve(now(), 1, p_kinds)
  );
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
    coalesce(floor(extract(epoch from now() - v_oldest)), 0)::integer;
end $$;
