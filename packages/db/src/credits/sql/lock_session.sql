-- Locks the session of one report or release, and returns it: null when the caller is not valid, when there is no such session of its
-- tenant and environment and, unless it is the engine, lineage, and, without `p_wait`, when another transaction has locked it.
-- Lock order: the session, after its caller.
create function rta.lock_session(
  p_caller rta.caller,
  p_valid_until timestamptz,
  p_change rta.session_change,
  p_wait boolean
) returns public.usage_sessions
language plpgsql as $$
declare
  v_session public.usage_sessions;
begin
  if p_wait then
    select * into v_session from public.usage_sessions
    where p_valid_until is not null and tenant_id = p_caller.tenant_id and environment = p_change.environment
      and id = p_change.session_id and (p_change.is_engine or p_caller.id = any (lineage))
    for no key update;
  else
    select * into v_session from public.usage_sessions
    where p_valid_until is not null and tenant_id = p_caller.tenant_id and environment = p_change.environment
      and id = p_change.session_id and (p_change.is_engine or p_caller.id = any (lineage))
    for no key update skip locked;
  end if;
  return v_session;
end $$;
