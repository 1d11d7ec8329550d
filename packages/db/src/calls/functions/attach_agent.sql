-- Writes what an agent brings into a room of the service: with what the avatar of the call joins, and for whom it speaks. Once: the
-- same token again changes nothing. Returns what became of it:
--   'attached'
--   'other'     the agent has brought another token before
--   'not_found' the call is with another avatar
--   'ended'     there is no such call, or it has ended, or its key must end its calls; or no agent was dispatched for it
-- Lock order: the call, its slot.
create function rta.attach_agent(
  p_tenant_id text,
  p_session_id text,
  p_avatar_id text,
  p_join_url text,
  p_join_token bytea,
  p_token_digest bytea,
  p_agent_identity text
) returns text
language plpgsql as $$
declare
  v_digest bytea;
begin
  perform from public.calls call
  where call.tenant_id = p_tenant_id and call.session_id = p_session_id and call.agent_name is not null
    and call.room in ('create', 'exists')
  for no key update;
  if not found or not exists (
    select from public.usage_sessions session
    where session.tenant_id = p_tenant_id and session.id = p_session_id and session.ended_at is null
      and session.expires_at > clock_timestamp() and not rta.must_end(session)
  ) then
    return 'ended';
  end if;
  if not exists (
    select from public.usage_sessions
    where tenant_id = p_tenant_id and id = p_session_id and avatar_id = p_avatar_id
  ) then
    return 'not_found';
  end if;
  select digest into v_digest from public.brought_rooms where tenant_id = p_tenant_id and session_id = p_session_id;
  if v_digest is not null then
    return case when v_digest = p_token_digest then 'attached' else 'other' end;
  end if;
  insert into public.brought_rooms (tenant_id, session_id, url, token, digest, agent_identity)
  values (p_tenant_id, p_session_id, p_join_url, p_join_token, p_token_digest, p_agent_identity);
  update fleet.avatar_slots set has_news = true where session_id = p_session_id;
  return 'attached';
end $$;
