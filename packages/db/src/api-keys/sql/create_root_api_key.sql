-- Creates a root key for the operator. Returns false and writes nothing when no such tenant exists.
-- Lock order: the tenant's row, against its deletion.
create function rta.create_root_api_key(p_api_key rta.api_key, p_digest bytea, p_audit_event rta.audit_event)
returns boolean
language plpgsql as $$
begin
  perform from public.tenants where tenant_id = p_api_key.tenant_id for key share;
  if not found then
    return false;
  end if;
  perform rta.insert_api_keys(array[p_api_key], array[p_digest], array[p_audit_event], rta.all_written());
  return true;
end $$;
