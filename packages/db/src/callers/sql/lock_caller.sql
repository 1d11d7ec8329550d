-- Locks the caller of a write, if it is valid and unchanged since its look-up: neither its key nor an ancestor is
-- revoked or expired, its key has the same version, and its credential is not retired. For a person, the session has
-- neither ended nor expired, and the user is unchanged. (A removed user has no row; a user with another role has
-- another version.) Returns the time until which the caller is valid ('infinity' without an expiry), or null. For a
-- write of a person that needs the passkey, it is the time until which the last use of the passkey counts. A function
-- that waits afterwards compares this time with the clock again. The idle limit of a session is not checked here: the
-- look-up has checked it, and the request itself is a use.
--
-- A revocation, the end of a session, the removal of a user and a change of role wait for these locks. So either they
-- wait for the write, or the write finds them and writes nothing. Lock order: keys by primary key, then the credential,
-- so that two writes never deadlock. For a person: the user, then the session.
--
-- `p_wait` false: the function does not wait for a caller that is being changed, and returns null. Otherwise the other
-- writes of the batch would wait too. The write is then sent again, alone, with `p_wait` true. So the callers of a
-- batch wait for no lock, and their order does not matter.
create function rta.lock_caller(p_caller rta.caller, p_wait boolean) returns timestamptz
language plpgsql as $$
declare
  v_key record;
  v_locked integer := 0;
  v_is_unchanged boolean := false;
  v_retired_at timestamptz;
  v_valid_until timestamptz := 'infinity';
begin
  -- With `p_wait`, the statements with `skip locked` run after those that wait. Their newer snapshot shows the result
  -- of the wait, so they skip nothing.
  if p_caller.session_id is not null then
    if p_wait then
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
  end if;

  if p_wait then
    perform from public.api_keys
    where tenant_id = p_caller.tenant_id and id = any (p_caller.lineage || p_caller.id)
    order by id for share;
    perform from public.api_key_credentials where key_id = p_caller.credential_key_id for share;
  end if;

  -- No aggregate: it needs a subquery, and Citus plans a subquery at each execution.
  for v_key in
    select id, version, expires_at from public.api_keys
    where tenant_id = p_caller.tenant_id and id = any (p_caller.lineage || p_caller.id) and revoked_at is null
    order by id for share skip locked
  loop
    v_locked := v_locked + 1;
    v_valid_until := least(v_valid_until, v_key.expires_at); -- skips null
    v_is_unchanged := v_is_unchanged or (v_key.id = p_caller.id and v_key.version = p_caller.version);
  end loop;
  -- Null counts as false: an unknown caller is not valid.
  if (v_locked > cardinality(p_caller.lineage) and v_is_unchanged) is not true then
    return null;
  end if;

  select retired_at into v_retired_at from public.api_key_credentials
  where key_id = p_caller.credential_key_id for share skip locked;
  if not found then
    return null;
  end if;
  -- The clock is read after the last lock, because the caller may have expired during a wait.
  v_valid_until := least(v_valid_until, v_retired_at);
  return case when v_valid_until > clock_timestamp() then v_valid_until end;
end $$;
