-- Disables an enabled endpoint, writes the audit event, and sends an event to the tenant's other endpoints. Lock order:
-- the calling function has locked the endpoint; the event.
create function rta.disable_endpoint(
  p_endpoint rta.webhook_endpoint,
  p_reason text, -- 'gone', 'failing' or 'operator'
  p_audit_event rta.audit_event
) returns void
language plpgsql as $$
declare
  v_new rta.webhook_endpoint := p_endpoint;
begin
  v_new.status := 'disabled';
  v_new.disabled_reason := p_reason;
  p_audit_event.tenant_id := p_endpoint.tenant_id;
  p_audit_event.environment := p_endpoint.environment;
  p_audit_event.target_id := p_endpoint.id;
  p_audit_event.changed_fields := array['status'];
  perform rta.change_webhook_endpoint(p_endpoint, v_new, p_audit_event);
  perform rta.emit_events(array[row(
    p_endpoint.tenant_id, p_endpoint.environment, 'webhook_endpoint.disabled', /* target_id */ p_endpoint.id, p_audit_event.created_at
  )::rta.event]);
end $$;
