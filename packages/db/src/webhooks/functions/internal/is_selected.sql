-- Whether a tenant has an endpoint that gets events of `p_type` in an environment.
create function rta.is_selected(p_tenant_id text, p_environment text, p_type text) returns boolean
language plpgsql stable as $$
begin
  return exists (
    select from public.webhook_endpoints
    where tenant_id = p_tenant_id and environment = p_environment and status = 'enabled' and rta.selects(events, p_type)
  );
end $$;
