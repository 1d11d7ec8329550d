-- Sends `usage_session.started` for a session that its first report has started. The calling function has locked the session.
create function rta.emit_session_started(p_session public.usage_sessions) returns void
language plpgsql as $$
begin
  if rta.has_endpoints(array[p_session.tenant_id]) then
    perform rta.emit_events(array[row(
      p_session.tenant_id, p_session.environment, 'usage_session.started', p_session.id, p_session.started_at
    )::rta.event]);
  end if;
end $$;
