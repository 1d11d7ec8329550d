-- Writes the event of an endpoint that was disabled, for the tenant's other endpoints.
-- Lock order: the event.
create function rta.emit_endpoint_disabled(p_tenant_id text, p_environment text, p_id text, p_created_at timestamptz)
returns void
language plpgsql as $$
begin
  null;
end $$;
