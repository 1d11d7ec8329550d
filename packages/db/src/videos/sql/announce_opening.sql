-- Sends the events of a request to open the session of a video, like open_usage_sessions: see emit_opening_events. The
-- calling function has locked the account.
create function rta.announce_opening(
  p_counters rta.counters,
  p_session rta.session_request,
  p_account rta.locked_account,
  p_held bigint[],
  p_outcomes rta.session_outcome[]
) returns void
language plpgsql as $$
begin
  perform from public.webhook_endpoints where tenant_id = any (p_counters.account_tenant_ids) and status = 'enabled' limit 1;
  if found then
    perform rta.emit_opening_events(p_counters, array[1], array[p_session], array[p_account], p_held, p_outcomes);
  end if;
end $$;
