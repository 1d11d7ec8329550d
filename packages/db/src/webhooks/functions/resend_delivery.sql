-- Sends a delivery again, whatever its status: it is due now, and its schedule begins anew. One that is being sent just now is
-- left to that attempt. Returns the outcome: 'not_found' when the caller's tenant has none of this id in the environment.
-- Lock order: the caller (lock_caller), the claim, the delivery.
create function rta.resend_delivery(
  p_caller rta.caller,
  p_environment text,
  p_id text,
  p_attempt_id text, -- of this write, for its claim
  p_claim rta.claim  -- null without an Idempotency-Key
) returns setof rta.write_outcome
language plpgsql as $$
declare
  v_event rta.audit_event;
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_outcome rta.write_outcome;
  v_is_found boolean;
begin
  v_event.id := p_attempt_id;
  v_outcome := rta.claim_write(p_caller, v_valid_until, p_claim, v_event);
  if v_outcome.kind = 'written' then
    perform from public.webhook_deliveries
    where tenant_id = p_caller.tenant_id and environment = p_environment and id = p_id for no key update;
    v_is_found := found;
    if not v_is_found or v_valid_until <= clock_timestamp() then
      v_outcome := rta.refuse_write(case when v_is_found then 'stale' else 'not_found' end, p_caller, p_claim, v_event);
    else
      perform rta.requeue_deliveries(p_caller.tenant_id, array[p_id]);
    end if;
  end if;
  return next v_outcome;
end $$;
