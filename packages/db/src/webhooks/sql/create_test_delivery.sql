-- Writes a test event for one endpoint, due now. Returns the outcome: 'not_found' when the caller's tenant has no such endpoint in
-- the environment, 'rate_limited' when the budget of its host is used up (take_resend). The id of the delivery is a response field.
-- Lock order: the caller (lock_caller), the claim, the endpoint, the host, the event.
create function rta.create_test_delivery(
  p_caller rta.caller,
  p_environment text,
  p_endpoint_id text,
  p_event_id text,
  p_delivery_id text,
  p_created_at timestamptz,
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
  v_host text;
  v_wait_seconds integer;
  v_refusal text;
  v_sequence bigint;
begin
  v_event.id := p_attempt_id;
  v_outcome := rta.claim_write(p_caller, v_valid_until, p_claim, v_event);
  if v_outcome.kind = 'written' then
    -- `for key share`, so that the endpoint is not deleted before the delivery exists.
    select rta.endpoint_host(url, id) into v_host from public.webhook_endpoints
    where tenant_id = p_caller.tenant_id and environment = p_environment and id = p_endpoint_id for key share;
    v_refusal := case when v_host is null then 'not_found' when v_valid_until <= clock_timestamp() then 'stale' end;
    if v_refusal is null then
      v_wait_seconds := rta.take_resend(p_caller.tenant_id, p_environment, v_host);
      v_refusal := case when v_wait_seconds is not null then 'rate_limited' end;
    end if;
    if v_refusal is not null then
      v_outcome := rta.refuse_write(v_refusal, p_caller, p_claim, v_event);
    else
      -- Of two concurrent events of one target, the second takes the next place.
      while v_sequence is null loop
        insert into public.webhook_events (tenant_id, id, environment, type, target_id, sequence, created_at)
        select p_caller.tenant_id, p_event_id, p_environment, 'webhook_endpoint.test', p_endpoint_id,
          coalesce(max(sequence), 0) + 1, p_created_at
        from public.webhook_events where tenant_id = p_caller.tenant_id and target_id = p_endpoint_id
        on conflict (tenant_id, target_id, sequence) do nothing
        returning sequence into v_sequence;
      end loop;
      insert into public.webhook_deliveries (
        tenant_id, id, environment, endpoint_id, event_id, event_type, target_id, sequence, next_attempt_at, budget_host, created_at
      )
      values (
        p_caller.tenant_id, p_delivery_id, p_environment, p_endpoint_id, p_event_id, 'webhook_endpoint.test',
        /* target_id */ p_endpoint_id,
        v_sequence, date_trunc('milliseconds', clock_timestamp()), v_host, p_created_at
      );
      perform rta.store_response_fields(p_caller, p_claim, json_build_object('deliveryId', p_delivery_id));
    end if;
  end if;
  return query select v_outcome.kind, v_wait_seconds, v_outcome.body_hash, v_outcome.status, v_outcome.location, v_outcome.etag,
    v_outcome.response_body, v_outcome.sealed_for, rta.stored_response_fields(p_caller, p_claim);
end $$;
