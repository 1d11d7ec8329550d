-- Locks an endpoint and returns it. All fields are null when the tenant has no endpoint with this id in the environment
-- (null: in any). Lock order: the endpoint.
create function rta.lock_webhook_endpoint(p_tenant_id text, p_environment text, p_id text) returns rta.webhook_endpoint
language plpgsql as $$
declare
  v_endpoint rta.webhook_endpoint;
begin
  select tenant_id, id, environment, url, description, events, ordered, status, disabled_reason, secret, previous_secret,
    previous_secret_expires_at, failing_since, version, created_at, updated_at
  into v_endpoint from public.webhook_endpoints
  where tenant_id = p_tenant_id and id = p_id and environment = coalesce(p_environment, environment)
  for no key update;
  return v_endpoint;
end $$;
