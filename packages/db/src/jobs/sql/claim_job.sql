-- Claims a job for a worker. The worker holds the job, and one of the tenant's `p_slots` slots, until its lease ends.
-- Returns the job with the number of its claims so far, or no row when no job can run now. Only jobs of `p_kinds` are
-- claimed.
--
-- Videos take minutes, other jobs seconds. So a tenant has the same number of separate slots for videos, from 1001 on.
-- Its files and avatars do not wait until a video is rendered.
--
-- A lease runs out when the worker has died, or was cut off from the database. It is unknown which of its jobs was the
-- reason. So the first time does not count as an attempt of these jobs. From then on each of them runs alone in its
-- worker (`runs_alone`), and the next death counts. `p_is_idle`: the worker runs no other job. If it runs one, and the
-- next job must run alone, that job is not claimed and null is returned, so that the worker lets its jobs end before it
-- claims again.
--
-- Tenants take turns. Among the tenants that can be served (a job is due, and a slot is free), the one that was served
-- longest ago is served, with the job that is due longest. At most 32 such tenants are compared, from the one after the
-- last served tenant, and then from the first, so each still gets its turn when there are more. The search ends with
-- the 32nd, and enters the index once for each tenant on its way. This takes 1 ms of the server while many tenants have
-- due jobs, and 43 ms for one among 10,000 tenants whose jobs are all due later. While no job is due, one entry is
-- read.
--
-- Lock order: the job, then the slot. Locked rows are skipped. A claim creates missing slots and then takes one of
-- them, so that it does not wait afterwards.
create function rta.claim_job(p_lease text, p_lease_seconds integer, p_slots integer, p_kinds text[], p_is_idle boolean)
returns table (job rta.job, attempts integer, runs_alone boolean)
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_until timestamptz := v_now + make_interval(secs => p_lease_seconds);
  v_due timestamptz;
  v_tenant record;
  v_job public.jobs;
  v_first integer; -- the first slot for such a job
  v_slot integer;
  v_lost_leases integer;
  v_attempts integer;
begin
  -- Ordered, so that one entry of the index is read, instead of the table until a due job.
  select coalesce(due.leased_until, due.run_at) into v_due from public.jobs due
  order by coalesce(due.leased_until, due.run_at) limit 1;
  if v_due <= v_now is not true then
    return;
  end if;
  -- A shard is held from here on.
  for v_tenant in
    select * from rta.tenants_to_serve(v_now, p_slots, p_kinds)
  loop
    select * into v_job from public.jobs due
    where due.tenant_id = v_tenant.tenant_id and coalesce(due.leased_until, due.run_at) <= v_now
      and due.attempts >= 0 and due.kind = any (p_kinds) and (due.kind <> 'render_video' or v_tenant.takes_videos)
    order by due.tenant_id, coalesce(due.leased_until, due.run_at) limit 1
    for no key update skip locked;
    continue when not found;
    v_first := case when v_job.kind = 'render_video' then 1001 else 1 end;
    v_lost_leases := v_job.lost_leases + case when v_job.leased_until is null then 0 else 1 end;
    v_attempts := v_job.attempts + case when v_job.lost_leases = 0 and v_lost_leases = 1 then 0 else 1 end;
    if v_lost_leases > 0 and not p_is_idle then
      return query select null::rta.job, null::integer, true;
      return;
    end if;

    insert into public.job_slots (tenant_id, slot)
    select v_tenant.tenant_id, v_first + missing
    from generate_series(case when v_job.kind = 'render_video' then v_tenant.video_slots else v_tenant.slots end, p_slots - 1) missing
    on conflict do nothing;
    select slot into v_slot from public.job_slots
    where tenant_id = v_tenant.tenant_id and slot >= v_first and slot < v_first + p_slots
      and coalesce(leased_until <= v_now, true)
    order by slot limit 1
    for no key update skip locked;
    continue when not found;

    update public.job_slots
    set job_id = v_job.id, lease = p_lease, leased_until = v_until, started_at = v_now
    where tenant_id = v_job.tenant_id and slot = v_slot;
    update public.jobs claimed
    set lease = p_lease, leased_until = v_until, attempts = v_attempts, lost_leases = v_lost_leases
    where claimed.tenant_id = v_job.tenant_id and claimed.id = v_job.id;
    return query select
      row(
        v_job.tenant_id, v_job.id, v_job.environment, v_job.kind, v_job.target_id, v_job.generation, v_job.run_at
      )::rta.job,
      v_attempts,
      v_lost_leases > 0;
    return;
  end loop;
end $$;
