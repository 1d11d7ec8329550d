-- Ends an open session at once, charges the reported usage, and writes the audit event. Returns the room that must be
-- deleted; null when the session is not open, or is not a call in a room of ours. Lock order: the session, the call and
-- its counters (lock_counters), its slot.
create function rta.end_lost_call(
  p_tenant_id text,
  p_session_id text,
  p_reason text,
  p_settle_entry_id text,
  p_rest_entry_id text,
  p_request_id text,
  p_audit_event rta.audit_event   -- null: the operator does not act
) returns text
language plpgsql as $$
declare
  v_session public.usage_sessions;
  v_closings rta.closing[];
begin
  select * into v_session from public.usage_sessions
  where tenant_id = p_tenant_id and id = p_session_id
  for no key update;
  -- Checked here, not by the query: see report_usages.
  if v_session.id is null or v_session.ended_at is not null then
    return null;
  end if;
  v_closings := array[
    rta.closing_of(v_session, 'sweep', p_reason, p_settle_entry_id, p_rest_entry_id, p_request_id)
  ];
  perform rta.lock_counters(v_closings);
  perform rta.close_sessions(v_closings, clock_timestamp());
  if p_audit_event.id is not null then
    perform rta.insert_audit_events(array[p_audit_event], null, false);
  end if;
  return (rta.rooms_of(v_closings))[1];
end $$;
