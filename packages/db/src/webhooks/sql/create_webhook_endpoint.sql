-- Creates a webhook endpoint with its audit event and its claim. Returns the outcome: 'quota_exceeded' when the tenant has
-- `p_max_endpoints` endpoints in the environment.
--
-- Lock order: the caller (lock_caller), the claim, the tenant's turn, then the new rows, which no other request can
-- name. Creates of a tenant wait for its turn, so that together they do not exceed the quota.
create function rta.create_webhook_endpoint(
  p_caller rta.caller,
  p_endpoint rta.webhook_endpoint,
  p_audit_event rta.audit_event,
  p_claim rta.claim, -- null without an Idempotency-Key
  p_max_endpoints integer
) returns setof rta.write_outcome
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_outcome rta.write_outcome := rta.claim_write(p_caller, v_valid_until, p_claim, p_audit_event);
  v_refusal text;
begin
  if v_outcome.kind <> 'written' then
    return next v_outcome;
    return;
  end if;

  insert into public.webhook_turns (tenant_id) values (p_endpoint.tenant_id) on conflict do nothing;
  perform from public.webhook_turns where tenant_id = p_endpoint.tenant_id for no key update;
  v_refusal := case
    -- The caller has expired during the wait for the turn.
    when v_valid_until <= clock_timestamp() then 'stale'
    when p_max_endpoints <= (
      select count(*) from public.webhook_endpoints
      where tenant_id = p_endpoint.tenant_id and environment = p_endpoint.environment
    ) then 'quota_exceeded'
  end;
  if v_refusal is null then
    insert into public.webhook_endpoints (
      tenant_id, id, environment, url, description, events, ordered, status, disabled_reason, secret, previous_secret,
      previous_secret_expires_at, failing_since, version, created_at, updated_at
    )
    values (p_endpoint.*);
    perform rta.insert_audit_events(array[p_audit_event], array[v_outcome], false);
  else
    v_outcome := rta.refuse_write(v_refusal, p_caller, p_claim, p_audit_event);
  end if;
  return next v_outcome;
end $$;
