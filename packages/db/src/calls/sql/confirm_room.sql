-- Records that a room of a call exists, so that the call is assigned to its worker, or moves there with it. Returns the
-- state of the call:
--   'exists'
--   'failed'  fail_call has ended it
--   'ended'   it has ended otherwise, or has another room by now, or does not exist
-- Lock order: the call, its slot.
create function rta.confirm_room(p_tenant_id text, p_session_id text, p_room_name text) returns text
language plpgsql as $$
declare
  v_call public.calls;
  v_session public.usage_sessions;
begin
  update public.calls call set room = 'exists'
  where call.tenant_id = p_tenant_id and call.session_id = p_session_id and call.room = 'create' and call.room_name = p_room_name and (
    -- Checked here, not by the query: see report_usages.
    select session.ended_at is null from public.usage_sessions session
    where session.tenant_id = p_tenant_id and session.id = p_session_id
  );
  if found then
    update fleet.avatar_slots set has_news = true where session_id = p_session_id;
    return 'exists';
  end if;
  select * into v_call from public.calls where tenant_id = p_tenant_id and session_id = p_session_id;
  select * into v_session from public.usage_sessions where tenant_id = p_tenant_id and id = p_session_id;
  return case
    when v_call.room = 'exists' and v_call.room_name = p_room_name and v_session.ended_at is null then 'exists'
    when v_session.reason = 'failed' and v_session.started_at is null then 'failed'
    else 'ended'
  end;
end $$;
