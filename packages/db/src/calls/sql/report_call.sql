-- Writes the report of a worker about a started call, and extends the lease of its session. The first report starts the
-- call. The start is not earlier than the moment when the worker saw both sides, because the worker rounds its seconds
-- up. It is not later than now, because `created_at` is by the clock of the API. The calling function has locked the
-- session, so its event causes no wait (emit_events).
create function rta.report_call(
  p_session public.usage_sessions,
  p_used_seconds bigint,
  p_lease_seconds integer,
  p_now timestamptz
) returns public.usage_sessions
language plpgsql as $$
declare
  v_starts boolean := p_session.started_at is null;
  v_seconds bigint := least(p_used_seconds, p_session.reserved / p_session.price); -- at most the seconds that it holds credits for
  v_seen_at timestamptz := p_now - make_interval(secs => greatest(v_seconds - 1, 0));
begin
  update public.usage_sessions set
    status = 'started',
    started_at = coalesce(started_at, least(p_now, greatest(created_at, v_seen_at))),
    used = greatest(used, v_seconds * price),
    expires_at = p_now + make_interval(secs => p_lease_seconds), version = version + 1
  where tenant_id = p_session.tenant_id and id = p_session.id
  returning * into p_session;
  if v_starts then
    perform rta.emit_sessions_started(array[p_session]);
  end if;
  return p_session;
end $$;
