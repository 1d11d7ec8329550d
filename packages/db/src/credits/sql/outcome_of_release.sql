-- The outcome of a release that is written, with its session as it is now: `p_record` (session_records). `p_act`: see act_of_release.
-- What was reported counts as well: a figure below it is charged as much, now and when it is sent again. `reported` is null for a
-- session that an earlier version has ended: then only the same figure is the same charge.
create function rta.outcome_of_release(
  p_session public.usage_sessions,
  p_change rta.session_change,
  p_act text,
  p_is_call boolean,
  p_record json
) returns rta.session_change_outcome
language plpgsql as $$
declare
  v_outcome rta.session_change_outcome;
begin
  v_outcome.kind := 'written';
  if p_change.is_engine and p_change.used is not null and not p_is_call
    and p_session.used <> least(p_session.reserved, greatest(p_session.reported, p_change.used))
  then
    v_outcome.kind := 'session_closed';
  end if;
  v_outcome.has_ended := coalesce(p_act <> 'mark', false);
  v_outcome.session := p_record;
  return v_outcome;
end $$;
