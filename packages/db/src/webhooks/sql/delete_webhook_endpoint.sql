-- Deletes an endpoint, and writes the audit event. Returns the outcome, and the endpoint in its last state: see
-- update_webhook_endpoint. Its deliveries remain for their retention; a claim cancels the pending ones. Lock order: the
-- caller (lock_caller), the endpoint.
create function rta.delete_webhook_endpoint(
  p_caller rta.caller,
  p_environment text,
  p_id text,
  p_versions text[], -- the versions that the deletion accepts; null: every version
  p_audit_event rta.audit_event
) returns table (outcome text, endpoint rta.webhook_endpoint)
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_old rta.webhook_endpoint;
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
    delete from public.webhook_endpoints where tenant_id = v_old.tenant_id and id = v_old.id;
    perform rta.insert_audit_events(array[p_audit_event], null, false);
    return query select 'written', v_old;
  end if;
end $$;
