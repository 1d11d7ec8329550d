-- Closes one session for its release at `p_now`, and returns how. One whose lease has expired ends as by the sweep. The calling
-- function has locked the session, and then its counters (lock_counters).
create function rta.close_session(
  p_session public.usage_sessions,
  p_closing rta.closing, -- see closing_of
  p_is_engine boolean,
  p_used bigint,         -- null: not said
  p_now timestamptz
) returns rta.closing
language plpgsql as $$
begin
  if p_session.expires_at > p_now then
    p_closing.status := 'released';
    p_closing.rest := 'release';
    if p_is_engine then
      p_closing.charged := least(p_session.reserved, greatest(p_session.used, p_used));
    end if;
  end if;
  perform rta.close_sessions(array[p_closing], p_now);
  return p_closing;
end $$;
