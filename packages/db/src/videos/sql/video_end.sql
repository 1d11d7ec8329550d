-- The reason why a running video must end, or null: its key or an ancestor was revoked ('key_ended'), its usage session
-- has ended ('session_ended'), or a key has released the session ('canceled'). The expiry of a key, or a lowered cap,
-- does not end a video: an admitted video is finished, because it holds its credits. The rows are read without locks.
create function rta.video_end(p_tenant_id text, p_session_id text) returns text
language plpgsql stable as $$
declare
  v_session record;
begin
  select ended_at, must_end, api_key_id, lineage into v_session from public.usage_sessions
  where tenant_id = p_tenant_id and id = p_session_id;
  if v_session.api_key_id is null or v_session.ended_at is not null then
    return 'session_ended';
  elsif v_session.must_end then
    return 'canceled';
  end if;
  -- The lineage of the key, including ancestors in the other environment.
  return (
    select case when bool_or(line.revoked_at is not null) then 'key_ended' end
    from public.api_keys own
    join public.api_keys line on line.tenant_id = own.tenant_id and line.id = any (own.lineage || own.id)
    where own.tenant_id = p_tenant_id and own.id = v_session.api_key_id
  );
end $$;
