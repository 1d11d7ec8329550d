-- Locks the session of each report or release, and returns them in their order: null when the caller is not valid, when there is no such
-- session of its tenant and environment and, unless it is the engine, lineage, and when another transaction has locked it. Of two
-- changes of one session only the first gets it. `p_wait`, for a batch of one: it waits for the session. A batch of several waits for
-- none, because all others would wait, too. Nor does it lock one from before the migration 0018, whose trigger locks meters: it is
-- changed alone, so that the meters of two are never locked one after the other.
-- `p_valid_until`: of each caller. Lock order: sessions by primary key, after their callers.
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
    -- The statement below has a newer snapshot: it sees what this one waited for, and skips nothing.
    perform from public.usage_sessions session
    where p_valid_until[1] is not null and session.tenant_id = p_callers[1].tenant_id and session.id = p_changes[1].session_id
      and session.environment = p_changes[1].environment
      and (p_changes[1].is_engine or p_callers[1].id = any (session.lineage))
    for no key update;
  end if;
  if cardinality(p_changes) = 1 then
    -- One table, which Citus plans once.
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
  -- A subquery with a lock is run for one row after the other, by the primary key, however small the table was when the plan was
  -- made.
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
