-- Deletes an invitation and writes the audit event. Returns the outcome ('written', 'not_found' or 'stale'), and the
-- invitation as it was. Lock order: the caller (lock_caller), the invitation.
create function rta.delete_invitation(p_caller rta.caller, p_id text, p_audit_event rta.audit_event)
returns table (outcome text, invitation rta.invitation)
language plpgsql as $$
declare
  v_old rta.invitation;
begin
  if rta.lock_caller(p_caller, true) is null then
    return query select 'stale', null::rta.invitation;
    return;
  end if;
  select tenant_id, id, digest, email, role, user_id, created_by, created_at, expires_at into v_old
  from public.invitations where tenant_id = p_caller.tenant_id and id = p_id
  for update;
  if (v_old.expires_at > clock_timestamp()) is not true then
    return query select 'not_found', null::rta.invitation;
    return;
  end if;
  delete from public.invitations where tenant_id = v_old.tenant_id and id = v_old.id;
  perform rta.insert_audit_events(array[p_audit_event], null, false);
  return query select 'written', v_old;
end $$;
