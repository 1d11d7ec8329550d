-- Locks a person who makes a write, if the session has neither ended nor expired and the user is unchanged since the
-- look-up: a user who was removed or has another role has another version, or none. Returns the time until which the
-- session lasts, or null; for a write that needs the passkey, the time until which it counts as used. `p_wait`: see
-- lock_caller. The clock of the database decides, once the locks are held. That the session was not idle for too long, the
-- look-up has found: the request itself is a use.
--
-- The end of a session, the removal of a user and a change of role wait for these locks, so either they wait for the
-- write, or the write finds them and writes nothing. Lock order: the user, then the session.
create function rta.lock_person(p_caller rta.caller, p_wait boolean) returns timestamptz
language plpgsql as $$
declare
  v_valid_until timestamptz;
begin
  if p_wait then
    -- The statements below have a newer snapshot: they see what these waited for, and skip nothing.
    perform from public.users where tenant_id = p_caller.tenant_id and id = p_caller.id for share;
    perform from public.user_sessions where tenant_id = p_caller.tenant_id and id = p_caller.session_id for share;
  end if;

  perform from public.users
  where tenant_id = p_caller.tenant_id and id = p_caller.id and version = p_caller.version
  for share skip locked;
  if not found then
    return null;
  end if;
  -- `least` skips null.
  select least(expires_at, case when p_caller.needs_passkey then verified_until end) into v_valid_until
  from public.user_sessions
  where tenant_id = p_caller.tenant_id and id = p_caller.session_id and user_id = p_caller.id
  for share skip locked;
  return case when v_valid_until > clock_timestamp() then v_valid_until end;
end $$;
