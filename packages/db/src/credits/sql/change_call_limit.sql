-- Changes the maximum length of a tenant's calls, and writes the audit event. Returns false and writes nothing when no
-- such account exists. A started call keeps its limit. Lock order: only the account.
create function rta.change_call_limit(
  p_tenant_id text,
  p_environment text,
  p_max_seconds integer, -- null: the default of the service
  p_audit_event rta.audit_event
) returns boolean
language plpgsql as $$
begin
  update public.credit_accounts
  set max_call_seconds = p_max_seconds, version = version + 1, updated_at = p_audit_event.created_at
  where tenant_id = p_tenant_id and environment = p_environment;
  if not found then
    return false;
  end if;
  perform rta.insert_audit_events(array[p_audit_event], null, true);
  return true;
end $$;
