-- Sends again the deliveries of an endpoint that have failed or were canceled, or that wait for another attempt after one that has
-- failed, and whose events happened since a time: they are due now, in the order in which they happened, and their schedules begin
-- anew. The oldest of them, up to `p_limit`: a request must end within its time. Returns the outcome and their number:
--   'written'
--   'not_found'  there is no such endpoint
--   'stale'      nothing is written: the caller has changed since its look-up
--   'replayed'   nothing is written: the stored response follows
-- Only 'written' keeps the claim. The operator acts when `p_caller` is null.
--
-- Lock order: the caller (lock_caller), the claim, the deliveries, skipping those that are locked: they are being sent.
create function rta.recover_deliveries(
  p_caller rta.caller,
  p_tenant_id text,
  p_environment text,
  p_endpoint_id text,
  p_first_id text,   -- the least id of a delivery of that time
  p_limit integer,
  p_attempt_id text, -- of this write, for its claim
  p_claim rta.claim  -- null without an Idempotency-Key
) returns table (
  outcome text,
  recovered integer,
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
  -- `p_caller is not null` would be true only if every field were set.
  v_valid_until timestamptz := case when p_caller is null then 'infinity' else rta.lock_caller(p_caller, true) end;
  v_outcome rta.write_outcome;
  v_refusal text;
  v_ids text[];
begin
  v_event.id := p_attempt_id;
  v_outcome := rta.claim_write(p_caller, v_valid_until, p_claim, v_event);
  if v_outcome.kind = 'written' then
    with ended as (
      select id from public.webhook_deliveries
      where tenant_id = p_tenant_id and endpoint_id = p_endpoint_id and id >= p_first_id collate "C"
        and environment = p_environment and status in ('failed', 'canceled')
      order by id limit p_limit for no key update skip locked
    ), retried as (
      select id from public.webhook_deliveries
      where tenant_id = p_tenant_id and endpoint_id = p_endpoint_id and id >= p_first_id collate "C"
        and environment = p_environment and status = 'pending' and not waits
        and coalesce(leased_until, next_attempt_at) > clock_timestamp() and lease is null and attempt_count > 0
      order by id limit p_limit for no key update skip locked
    )
    select coalesce(array_agg(id), '{}') into v_ids
    from (select id from ended union all select id from retried order by id limit p_limit) recovered;
    v_refusal := case
      when v_valid_until <= clock_timestamp() then 'stale'
      when not exists (
        select from public.webhook_endpoints
        where tenant_id = p_tenant_id and id = p_endpoint_id and environment = p_environment
      ) then 'not_found'
    end;
    if v_refusal is null then
      perform rta.requeue_deliveries(p_tenant_id, v_ids);
      perform rta.store_response_fields(p_caller, p_claim, json_build_object('recovered', cardinality(v_ids)));
    else
      v_outcome := rta.refuse_write(v_refusal, p_caller, p_claim, v_event);
    end if;
  end if;
  return query select v_outcome.kind, cardinality(v_ids), v_outcome.body_hash, v_outcome.status, v_outcome.location,
    v_outcome.etag, v_outcome.response_body, v_outcome.sealed_for, rta.stored_response_fields(p_caller, p_claim);
end $$;
