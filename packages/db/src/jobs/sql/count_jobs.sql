-- The depth of the queue: the numbers of due and of running jobs, each counted up to 10,000, and for how many seconds
-- the oldest job of the tenants that are not served has been due (0 without such a job). A tenant whose first slot for
-- the job is free counts as not served, because a claim takes the first free slot. Both counts read
-- `jobs_available_index` in its order, before and after now.
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
