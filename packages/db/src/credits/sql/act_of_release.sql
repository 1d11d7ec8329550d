-- What a release does to its session, which is locked: 'end', 'end call' (it is a call), 'mark' (see release_sessions), or null when it
-- has ended or there is none. The lock keeps the lease as it is: one that expires during this call is left to the next one.
create function rta.act_of_release(
  p_session public.usage_sessions,
  p_change rta.session_change,
  p_is_call boolean
) returns text
language plpgsql as $$
begin
  return case
    when p_session.id is null or p_session.ended_at is not null then null
    when p_is_call then 'end call'
    when not p_change.is_engine and p_session.started_at is not null and p_session.expires_at > clock_timestamp() then 'mark'
    else 'end'
  end;
end $$;
