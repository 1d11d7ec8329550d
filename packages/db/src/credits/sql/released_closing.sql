-- How a release of an open session ends it at `p_now`. `p_act`: see act_of_release. One whose lease has expired ends as by the sweep,
-- and a call by the clock (call_closing).
create function rta.released_closing(
  p_session public.usage_sessions,
  p_act text,
  p_closed_by text,
  p_change rta.session_change,
  p_now timestamptz
) returns rta.closing
language plpgsql as $$
declare
  v_closing rta.closing;
begin
  if p_act = 'end call' then
    return rta.call_closing(
      p_session, p_closed_by, p_change.reason, p_change.settle_entry_id, p_change.rest_entry_id, p_change.request_id, p_now
    );
  end if;
  v_closing := rta.closing_of(
    p_session, p_closed_by, p_change.reason, p_change.settle_entry_id, p_change.rest_entry_id, p_change.request_id
  );
  if p_session.expires_at > p_now then
    v_closing.status := 'released';
    v_closing.rest := 'release';
    if p_change.is_engine then
      v_closing.charged := least(p_session.reserved, greatest(p_session.used, p_change.used));
    end if;
  end if;
  return v_closing;
end $$;
