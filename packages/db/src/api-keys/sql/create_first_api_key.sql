-- Creates a tenant with a root key if no tenant exists. Otherwise returns false and writes nothing. See create_tenant.
create function rta.create_first_api_key(
  p_tenant_id text,
  p_name text,
  p_created_at timestamptz,
  p_grants rta.credit_entry[],
  p_api_key rta.api_key,
  p_digest bytea,
  p_audit_event rta.audit_event
) returns boolean
language plpgsql as $$
begin
  return rta.create_tenant(p_tenant_id, p_name, p_created_at, true, p_grants)
    and rta.create_root_api_key(p_api_key, p_digest, p_audit_event);
end $$;
