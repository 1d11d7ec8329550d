-- Ends a session and writes the audit event. When the session is not the caller's own, the links for further passkeys of its
-- user end too. Returns the outcome, and the session as it was:
--   'written'
--   'unchanged'  nothing is written: the session has a version that the request does not accept
--   'not_found'  no such session exists, or it belongs to another user and `p_of_others` is false
--   'stale'      nothing is written: the caller has changed since its look-up
-- Lock order: the caller's user, sessions by primary key, then invitations by primary key.
create function rta.end_user_session(
  p_caller rta.caller,
  p_id text,
  p_of_others boolean,
  p_versions text[], -- the versions that the request accepts; null: every version
  p_audit_event rta.audit_event
) returns table (outcome text, user_session rta.user_session)
language plpgsql as $$
declare
  v_old rta.user_session;
begin
  perform from public.users where tenant_id = p_caller.tenant_id and id = p_caller.id for share;
  perform from public.user_sessions
  where tenant_id = p_caller.tenant_id and id = any (array[p_caller.session_id, p_id] collate "C")
  order by id for update;
  if rta.lock_caller(p_caller, true) is null then
    return query select 'stale', null::rta.user_session;
    return;
  end if;
  select tenant_id, id, user_id, passkey_id, digest, user_agent, version, verified_until, created_at, expires_at, identity_id
  into v_old from public.user_sessions
  where tenant_id = p_caller.tenant_id and id = p_id and (p_of_others or user_id = p_caller.id)
    and expires_at > clock_timestamp();
  if v_old.id is null then
    return query select 'not_found', null::rta.user_session;
  elsif v_old.version::text <> all (p_versions) then
    return query select 'unchanged', v_old;
  else
    delete from public.user_sessions where tenant_id = v_old.tenant_id and id = v_old.id;
    -- A session that another session ends may have been stolen, so its links end. A sign-out keeps the link, because it
    -- may be for the next device.
    if v_old.id <> p_caller.session_id then
      perform rta.delete_passkey_links(v_old.tenant_id, v_old.user_id);
    end if;
    perform rta.insert_audit_events(array[p_audit_event], null, false);
    return query select 'written', v_old;
  end if;
end $$;
