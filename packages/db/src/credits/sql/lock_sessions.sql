-- As lock_session, for a batch: returns the session of each change, in their order. Of two changes of one session only the first gets
-- it. It waits for none, because all others would wait, too. Nor does it lock one from before the migration 0018, whose trigger locks
-- meters: it is changed alone, so that the meters of two are never locked one after the other.
-- Lock order: sessions by primary key, after their callers.
create function rta.lock_sessions(
  p_callers rta.caller[],
  p_caller_at integer[],
  p_valid_until timestamptz[],
  p_changes rta.session_change[]
) returns public.usage_sessions[]
language plpgsql as $$
begin
  return array(
    with locked as materialized (
      select change.ordinality as at, session
      from unnest(p_changes) with ordinality change
      join public.usage_sessions session
        on session.tenant_id = p_callers[p_caller_at[change.ordinality]].tenant_id and session.id = change.session_id
      where p_valid_until[change.ordinality] is not null and session.environment = change.environment
        and (change.is_engine or p_callers[p_caller_at[change.ordinality]].id = any (session.lineage))
        and (session.is_counted or session.ended_at is not null)
      order by session.tenant_id, session.id
      for no key update of session skip locked
    )
    select first.session
    from generate_subscripts(p_changes, 1) change (at)
    left join (
      select distinct on ((locked.session).id) locked.at, locked.session from locked order by (locked.session).id, locked.at
    ) first using (at)
    order by at
  );
end $$;
