-- Writes a session, and ends the oldest one of the user when `p_max_sessions` others are valid, with the audit event.
-- Sessions beyond that number that were idle for too long are deleted. The session lasts for the length in `p_session`,
-- from now by the clock of the database. Lock order: the calling function has locked the user `for no key update`, so
-- that two sign-ins of one user follow each other, and then its sessions (lock_user_sessions); or it has just created
-- the user.
create function rta.insert_user_session(
  p_session rta.user_session,
  p_max_sessions bigint,
  p_idle_seconds integer, -- how long a session may be idle
  p_ended_event rta.audit_event -- the event of the session that ends; its target is set here
) returns void
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_ended record;
begin
  for v_ended in
    select id, is_valid
    from (
      select session.id, session.created_at, greatest(session.created_at, (
        select last_seen_at from public.people_seen
        where tenant_id = session.tenant_id and id = session.id
      )) > v_now - make_interval(secs => p_idle_seconds) as is_valid
      from public.user_sessions session
      where session.tenant_id = p_session.tenant_id and session.user_id = p_session.user_id and session.expires_at > v_now
      -- The newest sessions remain.
      order by is_valid desc, session.created_at desc, session.id desc
      offset p_max_sessions - 1
    ) beyond
    order by is_valid, created_at, id
  loop
    -- One event, so one valid session ends. More exist only when a process of an earlier version has written them.
    exit when v_ended.is_valid and p_ended_event is null;
    delete from public.user_sessions where tenant_id = p_session.tenant_id and id = v_ended.id;
    if v_ended.is_valid then
      p_ended_event.target_id := v_ended.id;
      perform rta.insert_audit_events(array[p_ended_event], null, false);
      p_ended_event := null;
    end if;
  end loop;

  p_session.verified_until := v_now + (p_session.verified_until - p_session.created_at);
  p_session.expires_at := v_now + (p_session.expires_at - p_session.created_at);
  p_session.created_at := v_now;
  insert into public.user_sessions (
    tenant_id, id, user_id, passkey_id, digest, user_agent, version, verified_until, created_at, expires_at, identity_id
  )
  values (p_session.*);
end $$;
