-- The ids of the sessions that are calls. A few ids are looked up one by one: see lock_meters.
create function rta.calls_of(p_sessions public.usage_sessions[]) returns text[]
language plpgsql stable as $$
declare
  v_calls text[] := '{}';
begin
  if cardinality(p_sessions) > 4 then
    select array(
      select call.session_id from unnest(p_sessions) session
      join public.calls call on call.tenant_id = session.tenant_id and call.session_id = session.id
    ) into v_calls;
    return v_calls;
  end if;
  for v_at in 1 .. coalesce(cardinality(p_sessions), 0) loop
    continue when p_sessions[v_at].id is null;
    perform from public.calls where tenant_id = p_sessions[v_at].tenant_id and session_id = p_sessions[v_at].id;
    if found then
      v_calls := v_calls || p_sessions[v_at].id;
    end if;
  end loop;
  return v_calls;
end $$;
