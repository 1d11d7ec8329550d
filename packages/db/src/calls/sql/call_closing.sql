-- How an open call ends at `p_now` because the service ends its media: charged the seconds of both sides (used_by_clock). One whose lease has expired ends as by the sweep.
create function rta.call_closing(
  p_session public.usage_sessions,
  p_closed_by text,
  p_reason text,
  p_settle_entry_id text,
  p_rest_entry_id text,
  p_request_id text,
  p_now timestamptz
) returns rta.closing
language plpgsql as $$
declare
  v_closing rta.closing := rta.closing_of(
    p_session, p_closed_by, p_reason, p_settle_entry_id, p_rest_entry_id, p_request_id
  );
begin
  if p_session.expires_at > p_now then
    v_closing.charged := rta.used_by_clock(p_session, p_now);
    v_closing.rest := 'release';
  end if;
  return v_closing;
end $$;
