-- Starts the recovery of an endpoint. Claims then send again the deliveries that have failed, were canceled, or wait
-- for another attempt after a failed one, and whose events happened since a time. They are sent in the order of their
-- events, as fast as the budget of the host allows (release_recoveries). Their schedules begin anew. A running recovery
-- is replaced. Returns the outcome:
--   'written'       `recovered` is the number of deliveries, counted up to `p_limit`
--   'not_found'     no such endpoint exists
--   'rate_limited'  nothing is written: the endpoint was recovered less than a minute ago; the operator has no limit
--   'stale'         nothing is written: the caller has changed since its look-up
--   'replayed'      nothing is written: the stored response follows
-- Only 'written' keeps the claim. The operator acts when `p_caller` is null.
--
-- Lock order: the caller (lock_caller), the claim, the endpoint, the host.
create function rta.recover_deliveries(
  p_caller rta.caller,
  p_tenant_id text,
  p_environment text,
  p_endpoint_id text,
  p_first_id text,   -- the least id of a delivery since that time
  p_limit integer,
  p_attempt_id text, -- the id of this attempt, for its claim
  p_claim rta.claim  -- null without an Idempotency-Key
) returns table (
  outcome text,
  recovered integer,
  paused_until text,    -- as in the API: when the host gets the next delivery, after failures; null: at once
  next_recovery_at text, -- as in the API: when the endpoint can be recovered again
  wait_seconds integer, -- until then
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
  -- `case when p_caller is null`, because `p_caller is not null` is true only if every field is set.
  v_valid_until timestamptz := case when p_caller is null then 'infinity' else rta.lock_caller(p_caller, true) end;
  v_outcome rta.write_outcome;
  v_refusal text;
  v_at constant timestamptz := clock_timestamp();
  v_now constant timestamptz := date_trunc('milliseconds', v_at);
  v_last_id text := 'whd_' || left(rta.new_id(v_at), 13) || '~';
  v_host text;
  v_recovered_at timestamptz;
  v_recovered integer;
  v_paused_until timestamptz;
  v_next_at timestamptz;
begin
  v_event.id := p_attempt_id;
  v_outcome := rta.claim_write(p_caller, v_valid_until, p_claim, v_event);
  if v_outcome.kind = 'written' then
    select rta.endpoint_host(url, id), recovered_at into v_host, v_recovered_at from public.webhook_endpoints
    where tenant_id = p_tenant_id and id = p_endpoint_id and environment = p_environment for no key update;
    v_refusal := case
      when v_valid_until <= clock_timestamp() then 'stale'
      when v_host is null then 'not_found'
      when not (p_caller is null) and v_recovered_at > v_now - interval '1 minute' then 'rate_limited'
    end;
    if v_refusal is null then
      v_recovered := rta.count_recovered(p_tenant_id, p_environment, p_endpoint_id, p_first_id, v_last_id, p_limit);
      v_paused_until := rta.start_recovery(p_tenant_id, p_environment, p_endpoint_id, v_host, p_first_id, v_last_id, v_now);
      v_next_at := v_now + interval '1 minute';
      perform rta.store_response_fields(p_caller, p_claim, json_build_object(
        'recovered', v_recovered, 'pausedUntil', rta.time_text(v_paused_until), 'nextRecoveryAt', rta.time_text(v_next_at)
      ));
    else
      v_next_at := v_recovered_at + interval '1 minute';
      v_outcome := rta.refuse_write(v_refusal, p_caller, p_claim, v_event);
    end if;
  end if;
  return query select v_outcome.kind, v_recovered, rta.time_text(v_paused_until), rta.time_text(v_next_at),
    ceil(extract(epoch from v_next_at - v_now))::integer, v_outcome.body_hash, v_outcome.status, v_outcome.location,
    v_outcome.etag, v_outcome.response_body, v_outcome.sealed_for, rta.stored_response_fields(p_caller, p_claim);
end $$;
