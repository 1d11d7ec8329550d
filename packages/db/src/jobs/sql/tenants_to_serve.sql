-- Up to 32 tenants with a due job of `p_kinds` and a free slot for it, in the order in which claim_job serves them.
-- Returns the numbers of their existing slots for other jobs and for videos, whether a slot for a video is free, and
-- since when the job has been due.
--
-- A subquery finds the next tenant with jobs by one step in the index, and its job that is due first. `limit` stops the
-- search. `attempts >= 0` holds for all jobs and is the condition of the index. A job that can run may come after
-- videos that cannot. A tenant has few of these, because the number of queued videos is limited.
create function rta.tenants_to_serve(p_now timestamptz, p_slots integer, p_kinds text[])
returns table (tenant_id text, slots integer, video_slots integer, takes_videos boolean, due_at timestamptz)
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
  select servable.tenant_id::text, servable.slots::integer, servable.video_slots::integer, servable.takes_videos, servable.due_at
  from (
    select waiting.tenant_id, slot.slots, slot.video_slots, slot.started_at, free.takes_videos, first.due_at
    from (select * from behind union all select * from before) waiting
    cross join lateral (
      select count(*) filter (where slot <= 1000) as slots,
        count(*) filter (where slot <= 1000 and leased_until > p_now) as taken,
        count(*) filter (where slot > 1000) as video_slots,
        count(*) filter (where slot > 1000 and leased_until > p_now) as videos,
        max(started_at) as started_at
      from public.job_slots
      where job_slots.tenant_id = waiting.tenant_id and (slot <= p_slots or slot between 1001 and 1000 + p_slots)
    ) slot
    cross join lateral (select slot.videos < p_slots as takes_videos) free
    cross join lateral (
      select job.kind, coalesce(job.leased_until, job.run_at) as due_at from public.jobs job
      where job.tenant_id = waiting.tenant_id and coalesce(job.leased_until, job.run_at) <= p_now and job.attempts >= 0
        and job.kind = any (p_kinds) and (job.kind <> 'render_video' or free.takes_videos)
      order by job.tenant_id, coalesce(job.leased_until, job.run_at) limit 1
    ) first
    where waiting.due_at <= p_now and (first.kind = 'render_video' or slot.taken < p_slots)
    limit 32
  ) servable
  order by servable.started_at nulls first, servable.due_at;
end $$;
