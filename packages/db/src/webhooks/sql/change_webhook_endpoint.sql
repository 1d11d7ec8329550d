-- Writes the change of an endpoint to `p_new`, with a new version, writes the audit event, and returns the endpoint.
-- When an endpoint is enabled or gets another URL, earlier failures no longer count. When the order is switched off,
-- deliveries no longer wait for earlier events: up to 50,000 are unparked here, so that the change ends within its
-- time; the others later, one by one (unpark_deliveries). Lock order: the calling function has locked the endpoint;
-- deliveries (skip locked, because another transaction unparks the locked ones).
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
  if p_old.ordered and not p_new.ordered then
    with waiting as (
      select ctid as place from public.webhook_deliveries
      where tenant_id = p_old.tenant_id collate "C" and endpoint_id = p_old.id collate "C" and waits
      order by tenant_id, endpoint_id, target_id, sequence limit 50000
      for no key update skip locked
    )
    update public.webhook_deliveries set waits = false where ctid = any (array(select place from waiting));
  end if;
  perform rta.insert_audit_events(array[p_audit_event], null, false);
  return p_new;
end $$;
