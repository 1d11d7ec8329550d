-- Sends `usage_session.started` for sessions that their first reports have started. The calling function has locked the
-- sessions, so their events cause no wait (emit_events).
create function rta.emit_sessions_started(p_sessions public.usage_sessions[]) returns void
language plpgsql as $$
begin
  perform rta.emit_events(array(
    select row(tenant_id, environment, 'usage_session.started', /* target_id */ id, /* created_at */ started_at)::rta.event from unnest(p_sessions)
  ));
end $$;
