-- Changes the name or the role of a user, and writes the audit event with the names of the fields that differ. Returns
-- the outcome, and the user after that:
--   'written'
--   'unchanged'   nothing is written: the user has a version that the request does not accept
--   'last_owner'  nothing is written: the tenant would have no owner
--   'not_found'   no such user exists
--   'stale'       nothing is written: the caller has changed since its look-up
-- Lock order: see lock_people.
create function rta.update_user(
  p_caller rta.caller,
  p_id text,
  p_name text, -- null: unchanged
  p_role text, -- null: unchanged
  p_versions text[], -- the versions that the request accepts; null: every version
  p_audit_event rta.audit_event
) returns table (outcome text, member rta.member)
language plpgsql as $$
declare
  v_old rta.member;
  v_new rta.member;
begin
  if not rta.lock_people(p_caller, p_caller.tenant_id, p_id, p_role is not null) then
    return query select 'stale', null::rta.member;
    return;
  end if;
  select tenant_id, id, email, name, role, version, created_at into v_old from public.users
  where tenant_id = p_caller.tenant_id and id = p_id;
  if v_old.id is null then
    return query select 'not_found', null::rta.member;
  elsif v_old.version::text <> all (p_versions) then
    return query select 'unchanged', v_old;
  elsif p_role <> 'owner' and rta.is_last_owner(v_old) then
    return query select 'last_owner', v_old;
  else
    v_new := v_old;
    v_new.name := coalesce(p_name, v_old.name);
    v_new.role := coalesce(p_role, v_old.role);
    v_new.version := v_old.version + 1;
    update public.users set name = v_new.name, role = v_new.role, version = v_new.version
    where tenant_id = v_old.tenant_id and id = v_old.id;
    p_audit_event.changed_fields := array_remove(array[
      case when v_new.name <> v_old.name then 'name' end,
      case when v_new.role <> v_old.role then 'role' end
    ], null);
    perform rta.insert_audit_events(array[p_audit_event], null, false);
    return query select 'written', v_new;
  end if;
end $$;
