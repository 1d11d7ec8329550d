-- Closes open sessions at `p_now`. The charge of each moves from held to spent, the rest back to available, and both
-- entries are written. The sessions no longer count as open. Every counter changes once, by a relative amount. A call
-- also gives up its slot and its room (end_calls). The events are sent last, so a function must close all of its
-- sessions by one call. The calling function has locked the sessions, and then their counters (lock_counters).
create function rta.close_sessions(p_closings rta.closing[], p_now timestamptz) returns void
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', p_now);
  v_change record;
  v_tenant_ids text[] := array(select tenant_id from unnest(p_closings));
begin
  for v_change in
    select closing.tenant_id, metered.api_key_id, sum(closing.reserved)::bigint as reserved,
      sum(closing.charged)::bigint as charged, count(*) filter (where closing.is_counted) as sessions
    from unnest(p_closings) closing cross join lateral unnest(closing.lineage) metered (api_key_id)
    group by 1, 2
  loop
    update public.api_key_meters
    set reserved = reserved - v_change.reserved, settled = settled + v_change.charged,
      open_sessions = open_sessions - v_change.sessions
    where tenant_id = v_change.tenant_id and api_key_id = v_change.api_key_id;
  end loop;
  for v_change in
    select tenant_id, environment, sum(reserved)::bigint as reserved, sum(charged)::bigint as charged,
      count(*) filter (where is_counted) as sessions
    from unnest(p_closings) group by 1, 2
  loop
    update public.credit_accounts
    set reserved = reserved - v_change.reserved, settled = settled + v_change.charged,
      open_sessions = open_sessions - v_change.sessions, version = version + 1, updated_at = v_now
    where tenant_id = v_change.tenant_id and environment = v_change.environment;
  end loop;

  -- If the clock was set back since the start, the session must not end before its start: the API shows the seconds
  -- between them.
  update public.usage_sessions session
  set status = closing.status, reported = session.used, used = closing.charged, closed_by = closing.closed_by,
    reason = coalesce(closing.reason, session.reason), ended_at = greatest(v_now, session.started_at),
    is_counted = false, version = session.version + 1
  from unnest(p_closings) closing
  where session.tenant_id = closing.tenant_id and session.id = closing.session_id;
  insert into public.credit_entries (
    tenant_id, id, environment, kind, amount, session_id, api_key_id, reported_by, closed_by, request_id, created_at
  )
  select tenant_id, settle_entry_id, environment, 'settle', charged, session_id, api_key_id, reported_by, closed_by,
    request_id, v_now
  from unnest(p_closings)
  union all
  select tenant_id, rest_entry_id, environment, rest, reserved - charged, session_id, api_key_id, reported_by, closed_by,
    request_id, v_now
  from unnest(p_closings);
  perform rta.end_calls(v_tenant_ids, array(select session_id from unnest(p_closings)));
  perform from public.webhook_endpoints where tenant_id = any (v_tenant_ids) and status = 'enabled' limit 1;
  if found then
    perform rta.emit_closing_events(p_closings, v_now);
  end if;
end $$;
