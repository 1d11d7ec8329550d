-- Locks the session of each report or release, and returns them in their order. A session is null when the caller is
-- not valid, when another transaction has locked the session, or when the tenant and environment of the caller have no
-- such session (for a caller that is not an engine: its lineage). Of two changes of one session, only the first gets
-- it. `p_wait`, for a batch of one, waits for the session. A batch of several waits for no session, because all others
-- would wait too. It also skips a session from before the migration 0018, whose trigger locks meters. Such a session is
-- changed alone, so that the meters of two sessions are never locked one after the other. `p_valid_until`: for each
-- caller. Lock order: sessions by primary key, after their callers.
create function rta.lock_sessions(
  p_callers rta.caller[],
  p_caller_at integer[],
  p_valid_until timestamptz[],
  p_changes rta.session_change[],
  p_wait boolean
) returns public.usage_sessions[]
language plpgsql as $$
declare
  v_session public.usage_sessions;
  v_sessions public.usage_sessions[] := array_fill(null::public.usage_sessions, array[cardinality(p_changes)]);
  v_found public.usage_sessions[];
  v_found_at bigint[];
begin
  if p_wait then
    -- The statement below has a newer snapshot. It sees the result of this wait, and skips nothing.
    perform from public.usage_sessions session
    where p_valid_until[1] is not null and session.tenant_id = p_callers[1].tenant_id and session.id = p_changes[1].session_id
      and session.environment = p_changes[1].environment
      and (p_changes[1].is_engine or p_callers[1].id = any (session.lineage))
    for no key update;
  end if;
  if cardinality(p_changes) = 1 then
    -- A query of one table, whose plan Citus keeps.
    select * into v_session from public.usage_sessions session
    where p_valid_until[p_caller_at[1]] is not null
      and session.tenant_id = p_callers[p_caller_at[1]].tenant_id and session.id = p_changes[1].session_id
      and session.environment = p_changes[1].environment
      and (p_changes[1].is_engine or p_callers[p_caller_at[1]].id = any (session.lineage))
    for no key update skip locked;
    if found then
      v_sessions[1] := v_session;
    end if;
    return v_sessions;
  end if;
  select array_agg(change.at), array_agg(found.session) into v_found_at, v_found
  from (
    select distinct on (2, 3) ordinality as at, p_callers[p_caller_at[ordinality]].tenant_id as tenant_id, session_id,
      environment, is_engine, p_callers[p_caller_at[ordinality]].id as caller_id
    from unnest(p_changes) with ordinality where p_valid_until[p_caller_at[ordinality]] is not null
    order by 2, 3, 1
  ) change
  -- A subquery with a lock runs for one row after the other, by the primary key. So the plan does not depend on the
  -- size of the table when it was made.
  cross join lateral (
    select session from public.usage_sessions session
    where session.tenant_id = change.tenant_id and session.id = change.session_id and session.environment = change.environment
      and (change.is_engine or change.caller_id = any (session.lineage))
      and (session.is_counted or session.ended_at is not null)
    for no key update skip locked
  ) found;
  for v_index in 1 .. coalesce(cardinality(v_found), 0) loop
    v_sessions[v_found_at[v_index]] := v_found[v_index];
  end loop;
  return v_sessions;
end $$;
