-- Sends a delivery of any status again: it is due now, and its schedule begins anew. A running attempt of the delivery
-- continues. Returns the outcome: 'not_found' when the caller's tenant has no delivery with this id in the environment;
-- 'rate_limited' when the budget of its host is used up (take_resend). Lock order: the caller (lock_caller), the claim,
-- the delivery, the host.
create function rta.resend_delivery(
  p_caller rta.caller,
  p_environment text,
  p_id text,
  p_attempt_id text, -- the id of this attempt, for its claim
  p_claim rta.claim  -- null without an Idempotency-Key
) returns table (
  outcome text,
  wait_seconds integer, -- for 'rate_limited': until budget is available again
  body_hash bytea,
  response_status integer,
  location text,
  etag text,
  response_body bytea,
  sealed_for text,
  response_fields json
)
language plpgsql as $$
declare
  v_event rta.audit_event;
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_outcome rta.write_outcome;
  v_endpoint_id text;
  v_host text;
  v_wait_seconds integer;
  v_refusal text;
begin
  v_event.id := p_attempt_id;
  v_outcome := rta.claim_write(p_caller, v_valid_until, p_claim, v_event);
  if v_outcome.kind = 'written' then
    select endpoint_id into v_endpoint_id from public.webhook_deliveries
    where tenant_id = p_caller.tenant_id and environment = p_environment and id = p_id for no key update;
    v_refusal := case when v_endpoint_id is null then 'not_found' when v_valid_until <= clock_timestamp() then 'stale' end;
    if v_refusal is null then
      select rta.endpoint_host(url, id) into v_host from public.webhook_endpoints
      where tenant_id = p_caller.tenant_id and id = v_endpoint_id;
      v_host := coalesce(v_host, v_endpoint_id);
      v_wait_seconds := rta.take_resend(p_caller.tenant_id, p_environment, v_host);
      v_refusal := case when v_wait_seconds is not null then 'rate_limited' end;
    end if;
    if v_refusal is null then
      perform rta.requeue_deliveries(p_caller.tenant_id, array[p_id], v_host, date_trunc('milliseconds', clock_timestamp()));
    else
      v_outcome := rta.refuse_write(v_refusal, p_caller, p_claim, v_event);
    end if;
  end if;
  return query select v_outcome.kind, v_wait_seconds, v_outcome.body_hash, v_outcome.status, v_outcome.location, v_outcome.etag,
    v_outcome.response_body, v_outcome.sealed_for, rta.stored_response_fields(p_caller, p_claim);
end $$;
