-- The outcomes of releases whose sessions are written, each with its current session (session_records). A `used` below
-- the reported usage leads to the charge of the reported usage, at the first request and at a repetition. `reported` is
-- null for a session that an earlier version has ended: then only an equal `used` is the same charge.
create function rta.released_outcomes(
  p_callers rta.caller[],
  p_caller_at integer[],
  p_changes rta.session_change[],
  p_acts text[],                           -- see release_sessions
  p_calls text[],                          -- the sessions that are calls, or of videos
  p_outcomes rta.session_change_outcome[]  -- for each release, so far
) returns rta.session_change_outcome[]
language plpgsql as $$
declare
  v_sessions public.usage_sessions[] := array(
    select found.session from unnest(p_changes) with ordinality change
    left join lateral (
      select session from public.usage_sessions session
      where p_outcomes[change.ordinality].kind = 'written'
        and session.tenant_id = p_callers[p_caller_at[change.ordinality]].tenant_id and session.id = change.session_id
      offset 0 -- so that the planner reads by the primary key
    ) found on true
    order by change.ordinality
  );
  v_records json[] := rta.session_records(v_sessions, null);
begin
  for v_at in 1 .. cardinality(p_outcomes) loop
    continue when p_outcomes[v_at].kind <> 'written';
    if p_changes[v_at].is_engine and p_changes[v_at].used is not null and v_sessions[v_at].id <> all (p_calls)
      and v_sessions[v_at].used
        <> least(v_sessions[v_at].reserved, greatest(v_sessions[v_at].reported, p_changes[v_at].used))
    then
      p_outcomes[v_at].kind := 'session_closed';
    end if;
    p_outcomes[v_at].has_ended := coalesce(p_acts[v_at] <> 'mark', false);
    p_outcomes[v_at].session := v_records[v_at];
  end loop;
  return p_outcomes;
end $$;
