-- Changes an endpoint of the caller's tenant and environment, and writes the audit event with the names of the fields
-- whose values differ. Returns the outcome, and the endpoint after that:
--   'written'
--   'unchanged'  nothing is written: the endpoint has another version than the change accepts
--   'not_found'  no such endpoint exists
--   'stale'      nothing is written: the caller has changed since its look-up
--
-- Deliveries are not changed: their next attempts see the change (claim_deliveries). Lock order: the caller
-- (lock_caller), the endpoint.
create function rta.update_webhook_endpoint(
  p_caller rta.caller,
  p_environment text,
  p_id text,
  p_change rta.webhook_endpoint_change,
  p_versions text[], -- the versions that the change accepts; null: every version
  p_audit_event rta.audit_event
) returns table (outcome text, endpoint rta.webhook_endpoint)
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_old rta.webhook_endpoint;
  v_new rta.webhook_endpoint;
begin
  if v_valid_until is null then
    return query select 'stale', null::rta.webhook_endpoint;
    return;
  end if;
  v_old := rta.lock_webhook_endpoint(p_caller.tenant_id, p_environment, p_id);
  if v_valid_until <= clock_timestamp() then
    -- The caller has expired during the wait for the endpoint.
    return query select 'stale', null::rta.webhook_endpoint;
  elsif v_old.id is null then
    return query select 'not_found', null::rta.webhook_endpoint;
  elsif v_old.version::text <> all (p_versions) then
    return query select 'unchanged', v_old;
  else
    v_new := v_old;
    if 'url' = any (p_change.fields) then v_new.url := p_change.url; end if;
    if 'description' = any (p_change.fields) then v_new.description := p_change.description; end if;
    if 'events' = any (p_change.fields) then v_new.events := p_change.events; end if;
    if 'ordered' = any (p_change.fields) then v_new.ordered := p_change.ordered; end if;
    if 'status' = any (p_change.fields) then
      v_new.status := p_change.status;
      v_new.disabled_reason := case when v_new.status = 'disabled' then coalesce(v_old.disabled_reason, 'requested') end;
    end if;
    p_audit_event.changed_fields := array_remove(array[
      case when v_new.url is distinct from v_old.url then 'url' end,
      case when v_new.description is distinct from v_old.description then 'description' end,
      case when v_new.events is distinct from v_old.events then 'events' end,
      case when v_new.ordered is distinct from v_old.ordered then 'ordered' end,
      case when v_new.status is distinct from v_old.status then 'status' end
    ], null);
    return query select 'written', rta.change_webhook_endpoint(v_old, v_new, p_audit_event);
  end if;
end $$;
