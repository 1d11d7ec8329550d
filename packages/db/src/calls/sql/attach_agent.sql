-- The agent of a call in a created room has brought another room: writes the access with which the avatar joins, and
-- the participant for whom it speaks. The same token again changes nothing. Returns the outcome:
--   'attached'
--   'other'      the agent has brought another token before
--   'not_found'  the call is with another avatar
--   'ended'      no such call exists, or it has ended or must end, or it awaits no agent
-- Lock order: the call, its agent, its slot.
create function rta.attach_agent(
  p_tenant_id text,
  p_session_id text,
  p_avatar_id text,
  p_url text,
  p_token bytea,
  p_digest bytea,
  p_identity text
) returns text
language plpgsql as $$
declare
  v_session public.usage_sessions;
  v_agent public.call_agents;
  v_has_ended_key boolean;
begin
  perform from public.calls
  where tenant_id = p_tenant_id and session_id = p_session_id and room in ('create', 'exists')
  for no key update;
  select * into v_session from public.usage_sessions
  where tenant_id = p_tenant_id and id = p_session_id and expires_at > clock_timestamp();
  select * into v_agent from public.call_agents where tenant_id = p_tenant_id and session_id = p_session_id;
  v_has_ended_key := exists (
    select from rta.ended_keys(array[p_tenant_id], array[v_session.api_key_id], array[v_session.environment])
  );
  case
    -- Checked here, not by the query: see report_usages.
    when v_session.id is null or v_session.ended_at is not null or v_session.must_end or v_has_ended_key
      or v_agent.session_id is null then
      return 'ended';
    when v_session.avatar_id is distinct from p_avatar_id then
      return 'not_found';
    when v_agent.digest is not null then
      return case when v_agent.digest = p_digest then 'attached' else 'other' end;
    else
      update public.call_agents set url = p_url, token = p_token, digest = p_digest, identity = p_identity
      where tenant_id = p_tenant_id and session_id = p_session_id;
      update fleet.avatar_slots set has_news = true where session_id = p_session_id;
      return 'attached';
  end case;
end $$;
