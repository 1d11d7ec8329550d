-- Whether any of these tenants has an endpoint that is enabled: one probe of an index. Most changes of a tenant without one cost
-- nothing else.
create function rta.has_endpoints(p_tenant_ids text[]) returns boolean
language plpgsql stable as $$
begin
  perform from public.webhook_endpoints where tenant_id = any (p_tenant_ids) and status = 'enabled' limit 1;
  return found;
end $$;
