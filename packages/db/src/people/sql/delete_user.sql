-- Removes a user with its passkeys, its identities, its sessions and the invitations that name it, and writes the audit
-- event. The keys that the user has created remain, because they belong to the tenant. Returns the outcome, and the
-- user as it was:
--   'written'
--   'unchanged'   nothing is written: the user has a version that the request does not accept
--   'last_owner'  nothing is written: the tenant would have no owner; only the operator may remove the last owner
--   'not_found'   no such user exists
--   'stale'       nothing is written: the caller has changed since its look-up
-- Lock order: see lock_people; then sessions, passkeys and identities, each by primary key; then invitations, in no
-- order. Only this function locks several invitations of a tenant, and lock_people lets one call run at a time.
create function rta.delete_user(
  p_caller rta.caller, -- null: the operator
  p_tenant_id text,
  p_id text,
  p_versions text[], -- the versions that the request accepts; null: every version
  p_audit_event rta.audit_event
) returns table (outcome text, member rta.member)
language plpgsql as $$
declare
  v_old rta.member;
  v_invitations tid[];
begin
  if not rta.lock_people(p_caller, p_tenant_id, p_id, true) then
    return query select 'stale', null::rta.member;
    return;
  end if;
  select tenant_id, id, email, name, role, version, created_at into v_old from public.users
  where tenant_id = p_tenant_id and id = p_id;
  if v_old.id is null then
    return query select 'not_found', null::rta.member;
  elsif v_old.version::text <> all (p_versions) then
    return query select 'unchanged', v_old;
  elsif not (p_caller is null) and rta.is_last_owner(v_old) then
    return query select 'last_owner', v_old;
  else
    perform rta.lock_user_sessions(p_tenant_id, p_id);
    delete from public.user_sessions where tenant_id = p_tenant_id and user_id = p_id;
    perform from public.passkeys where tenant_id = p_tenant_id and user_id = p_id order by id for update;
    delete from public.passkeys where tenant_id = p_tenant_id and user_id = p_id;
    perform from public.user_identities where tenant_id = p_tenant_id and user_id = p_id order by id for update;
    delete from public.user_identities where tenant_id = p_tenant_id and user_id = p_id;
    -- Each invitation is found by its index, because otherwise all invitations of the tenant would be read. The `ctid`
    -- of a locked row does not change.
    v_invitations :=
      array(select ctid from public.invitations where tenant_id = p_tenant_id and user_id = p_id order by id for update)
      || array(select ctid from public.invitations where tenant_id = p_tenant_id and created_by = p_id order by id for update)
      || array(select ctid from public.invitations where tenant_id = p_tenant_id and email = v_old.email for update);
    delete from public.invitations where ctid = any (v_invitations);
    delete from public.users where tenant_id = p_tenant_id and id = p_id;
    delete from public.people_seen where tenant_id = p_tenant_id and id = p_id;
    perform rta.insert_audit_events(array[p_audit_event], null, false);
    return query select 'written', v_old;
  end if;
end $$;
