-- Changes how many sessions of a tenant may be open at once in an environment, and writes the audit event. Returns
-- false and writes nothing when no such account exists. Open sessions stay open. Lock order: only the account.
create function rta.change_session_limit(
  p_tenant_id text,
  p_environment text,
  p_session_limit bigint,
  p_audit_event rta.audit_event
) returns boolean
language plpgsql as $$
begin
  update public.credit_accounts
  set max_concurrent_sessions = p_session_limit, version = version + 1, updated_at = p_audit_event.created_at
  where tenant_id = p_tenant_id and environment = p_environment;
  if not found then
    return false;
  end if;
  perform rta.insert_audit_events(array[p_audit_event], null, true);
  return true;
end $$;
