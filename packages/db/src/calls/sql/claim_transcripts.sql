-- Claims up to `p_limit` due transcripts for a worker, which holds each until its lease ends. Returns them with the
-- content to send: at most `p_per_tenant` of each tenant, and none of the tenants in `p_busy_tenants`. Tenants take
-- turns: those after `p_after` are served, in the order of their ids. A worker that continues after the last one, and
-- from '' after the end, serves every tenant. A transcript of an open call is examined again after ten minutes, because
-- a function of an earlier version, which does not know transcripts, may end the call. A transcript without a receiver
-- is not returned. If it is kept, it leaves the queue; otherwise it is deleted. While nothing is due, one entry of an
-- index is read; otherwise one for each tenant with a due transcript.
--
-- Lock order: the transcripts. A row that is locked is skipped, not waited for.
create function rta.claim_transcripts(
  p_lease text,
  p_lease_seconds integer,
  p_after text,
  p_limit integer,
  p_per_tenant integer,
  p_busy_tenants text[]
) returns setof rta.claimed_transcript
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_until timestamptz := v_now + make_interval(secs => p_lease_seconds);
  v_later timestamptz := v_now + interval '10 minutes';
  v_due record;
  v_session public.usage_sessions;
  v_call public.calls;
begin
  if (
    select coalesce(due.leased_until, due.due_at) from public.call_transcripts due
    order by coalesce(due.leased_until, due.due_at) limit 1
  ) <= v_now is not true then
    return;
  end if;
  for v_due in
    with recursive tenant (id, due_at) as (
      (
        select first.tenant_id, coalesce(first.leased_until, first.due_at) from public.call_transcripts first
        where first.tenant_id > p_after and first.due_at is not null
        order by first.tenant_id, coalesce(first.leased_until, first.due_at) limit 1
      )
      union all
      select next.* from tenant cross join lateral (
        select one.tenant_id, coalesce(one.leased_until, one.due_at) from public.call_transcripts one
        where one.tenant_id > tenant.id and one.due_at is not null
        order by one.tenant_id, coalesce(one.leased_until, one.due_at) limit 1
      ) next
    ), served as (
      select id from tenant where due_at <= v_now and id <> all (p_busy_tenants) limit p_limit
    )
    select transcript.* from served cross join lateral (
      select * from public.call_transcripts due
      where due.tenant_id = served.id and due.due_at is not null
      order by due.tenant_id, coalesce(due.leased_until, due.due_at) limit p_per_tenant
      for no key update skip locked
    ) transcript
    -- Not a condition of the subquery, because the server would use the index of all tenants for it.
    where coalesce(transcript.leased_until, transcript.due_at) <= v_now
    limit p_limit
  loop
    select * into v_session from public.usage_sessions where tenant_id = v_due.tenant_id and id = v_due.session_id;
    -- Checked here, not by the query: see report_usages.
    if v_session.ended_at is null then
      update public.call_transcripts set due_at = v_later
      where tenant_id = v_due.tenant_id and session_id = v_due.session_id;
      continue;
    elsif v_due.receiver is null then
      update public.call_transcripts set due_at = null, ended_at = v_session.ended_at
      where tenant_id = v_due.tenant_id and session_id = v_due.session_id;
      if not v_due.is_kept then
        perform rta.forget_transcript(v_due.tenant_id, v_due.session_id);
      end if;
      continue;
    end if;
    update public.call_transcripts
    set ended_at = v_session.ended_at, lease = p_lease, leased_until = v_until
    where tenant_id = v_due.tenant_id and session_id = v_due.session_id;
    select * into v_call from public.calls where tenant_id = v_due.tenant_id and session_id = v_due.session_id;
    return next row(
      v_due.tenant_id, v_due.session_id, v_due.attempt_count, v_due.receiver, v_session.avatar_id, v_call.mode,
      v_session.started_at, v_session.ended_at, v_session.metadata,
      -- The last words are missing when the worker was lost, or has not reported that the transcript is complete.
      /* is_truncated */ v_due.is_truncated or v_session.started_at is not null and (v_call.generation - v_call.handovers > 1 or not v_due.is_complete),
      /* segments */ array(
        select encode(segment, 'hex') from public.call_segments
        where tenant_id = v_due.tenant_id and session_id = v_due.session_id order by generation, n
      )
    )::rta.claimed_transcript;
  end loop;
end $$;
