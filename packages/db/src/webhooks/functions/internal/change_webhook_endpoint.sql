-- Writes the change of an endpoint to `p_new`, with a new version, writes the audit event, and returns the endpoint. An endpoint
-- that is enabled, or has another URL, begins anew: what failed before does not count.
-- Lock order: the calling function has locked the endpoint.
create function rta.change_webhook_endpoint(
  p_old rta.webhook_endpoint,
  p_new rta.webhook_endpoint,
  p_audit_event rta.audit_event
) returns rta.webhook_endpoint
language plpgsql as $$
declare
  v_begins_anew boolean := p_new.url is distinct from p_old.url or p_new.status = 'enabled' and p_old.status <> 'enabled';
begin
  p_new.version := p_old.version + 1;
  p_new.updated_at := p_audit_event.created_at;
  p_new.failing_since := case when not v_begins_anew then p_new.failing_since end;
  update public.webhook_endpoints set
    url = p_new.url, description = p_new.description, events = p_new.events, ordered = p_new.ordered, status = p_new.status,
    disabled_reason = p_new.disabled_reason, secret = p_new.secret, previous_secret = p_new.previous_secret,
    previous_secret_expires_at = p_new.previous_secret_expires_at, failing_since = p_new.failing_since,
    slow_until = case when not v_begins_anew then slow_until end, version = p_new.version, updated_at = p_new.updated_at
  where tenant_id = p_old.tenant_id and id = p_old.id;
  perform rta.insert_audit_events(array[p_audit_event], rta.all_written());
  return p_new;
end $$;
