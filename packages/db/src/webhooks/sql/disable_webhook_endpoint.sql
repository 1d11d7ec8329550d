-- Disables an endpoint, for the operator, and writes the audit event. Returns the outcome, and the endpoint after that:
--   'written'
--   'unchanged'  nothing is written: it is disabled
--   'not_found'  no such endpoint exists
-- Lock order: the endpoint, the event.
create function rta.disable_webhook_endpoint(p_tenant_id text, p_id text, p_audit_event rta.audit_event)
returns table (outcome text, endpoint rta.webhook_endpoint)
language plpgsql as $$
declare
  v_endpoint rta.webhook_endpoint := rta.lock_webhook_endpoint(p_tenant_id, null, p_id);
  v_outcome text := case
    when v_endpoint.id is null then 'not_found'
    when v_endpoint.status = 'disabled' then 'unchanged'
    else 'written'
  end;
begin
  if v_outcome = 'written' then
    perform rta.disable_endpoint(v_endpoint, 'operator', p_audit_event);
    v_endpoint := rta.lock_webhook_endpoint(p_tenant_id, null, p_id);
  end if;
  return query select v_outcome, v_endpoint;
end $$;
