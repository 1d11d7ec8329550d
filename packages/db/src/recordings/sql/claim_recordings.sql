-- Claims the recordings of up to `p_limit` calls that are due for a worker, which holds each until its lease ends, and
-- returns them with their fragments: at most `p_per_tenant` calls of each tenant, and none of those in
-- `p_busy_tenants`. Fair between tenants, as claim_transcripts. An attempt counts from its start, so that an attempt
-- that kills its worker also counts. An open call is checked again after ten minutes, because a function of an earlier
-- version, which does not know recordings, may end it. A call without fragments is not returned: its recordings have
-- failed. While nothing is due, one entry of an index is read; otherwise one for each tenant with a recorded call.
--
-- Lock order: the rows in call_recordings, each with its recordings. A locked row is skipped without waiting.
create function rta.claim_recordings(
  p_lease text,
  p_lease_seconds integer,
  p_after text,
  p_limit integer,
  p_per_tenant integer,
  p_busy_tenants text[]
) returns setof rta.claimed_recordings
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_until timestamptz := v_now + make_interval(secs => p_lease_seconds);
  v_later timestamptz := v_now + interval '10 minutes';
  v_due record;
  v_session public.usage_sessions;
  v_mode text;
begin
  if (
    select coalesce(due.leased_until, due.due_at) from public.call_recordings due
    order by coalesce(due.leased_until, due.due_at) limit 1
  ) <= v_now is not true then
    return;
  end if;
  for v_due in
    with recursive tenant (id, due_at) as (
      (
        select first.tenant_id, coalesce(first.leased_until, first.due_at) from public.call_recordings first
        where first.tenant_id > p_after and first.attempt_count >= 0
        order by first.tenant_id, coalesce(first.leased_until, first.due_at) limit 1
      )
      union all
      select next.* from tenant cross join lateral (
        select one.tenant_id, coalesce(one.leased_until, one.due_at) from public.call_recordings one
        where one.tenant_id > tenant.id and one.attempt_count >= 0
        order by one.tenant_id, coalesce(one.leased_until, one.due_at) limit 1
      ) next
    ), served as (
      select id from tenant where due_at <= v_now and id <> all (p_busy_tenants) limit p_limit
    )
    select recording.* from served cross join lateral (
      select * from public.call_recordings due
      where due.tenant_id = served.id and due.attempt_count >= 0
      order by due.tenant_id, coalesce(due.leased_until, due.due_at) limit p_per_tenant
      for no key update skip locked
    ) recording
    -- Not a condition of the subquery: see claim_transcripts.
    where coalesce(recording.leased_until, recording.due_at) <= v_now
    limit p_limit
  loop
    select * into v_session from public.usage_sessions where tenant_id = v_due.tenant_id and id = v_due.session_id;
    -- Checked here, not by the query: see report_usages.
    if v_session.ended_at is null then
      update public.call_recordings set due_at = v_later
      where tenant_id = v_due.tenant_id and session_id = v_due.session_id;
      continue;
    end if;
    if v_due.ended_at is null then
      perform rta.end_call_recordings(array[v_due.tenant_id], array[v_due.session_id], v_session.ended_at);
    end if;
    if v_due.fragment_count = 0 then
      perform rta.end_recordings(v_due.tenant_id, v_due.session_id, '{}', 'recording_unavailable');
      continue;
    end if;
    update public.call_recordings set lease = p_lease, leased_until = v_until, attempt_count = attempt_count + 1
    where tenant_id = v_due.tenant_id and session_id = v_due.session_id;
    select mode into v_mode from public.calls where tenant_id = v_due.tenant_id and session_id = v_due.session_id;
    return next row(
      v_due.tenant_id, v_due.session_id, v_session.environment, v_session.avatar_id, /* call_mode */ v_mode, v_session.started_at,
      v_session.ended_at, /* attempt_count */ v_due.attempt_count + 1,
      /* recordings */ (
        select json_agg(json_build_object('id', id, 'mode', mode, 'role', role) order by id) from public.recordings
        where tenant_id = v_due.tenant_id and session_id = v_due.session_id and status = 'processing'
      ),
      /* fragments */ (
        select json_agg(json_build_object('generation', generation, 'n', n, 'sizeBytes', size_bytes) order by generation, n)
        from public.recording_fragments where tenant_id = v_due.tenant_id and session_id = v_due.session_id
      )
    )::rta.claimed_recordings;
  end loop;
end $$;
