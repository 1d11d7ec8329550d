-- Gives an endpoint a new secret, and writes the audit event and the claim. The older secret also signs until its
-- expiry. `p_endpoint` is the endpoint after the rotation. Returns the outcome: 'stale' when the caller or the endpoint
-- has changed since its look-up (the version before `p_endpoint.version`), so that of two concurrent rotations one is
-- repeated and sees the other; 'not_found' when the endpoint is deleted. Lock order: the caller (lock_caller), the
-- claim, the endpoint.
create function rta.rotate_webhook_secret(
  p_caller rta.caller,
  p_endpoint rta.webhook_endpoint,
  p_audit_event rta.audit_event,
  p_claim rta.claim -- null without an Idempotency-Key
) returns setof rta.write_outcome
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_outcome rta.write_outcome := rta.claim_write(p_caller, v_valid_until, p_claim, p_audit_event);
  v_old rta.webhook_endpoint;
  v_new rta.webhook_endpoint;
begin
  if v_outcome.kind = 'written' then
    v_old := rta.lock_webhook_endpoint(p_endpoint.tenant_id, p_endpoint.environment, p_endpoint.id);
    if v_valid_until > clock_timestamp() and v_old.version = p_endpoint.version - 1 then
      v_new := v_old;
      v_new.secret := p_endpoint.secret;
      v_new.previous_secret := p_endpoint.previous_secret;
      v_new.previous_secret_expires_at := p_endpoint.previous_secret_expires_at;
      perform rta.change_webhook_endpoint(v_old, v_new, p_audit_event);
    else
      v_outcome := rta.refuse_write(
        case when v_old.id is null then 'not_found' else 'stale' end, p_caller, p_claim, p_audit_event
      );
    end if;
  end if;
  return next v_outcome;
end $$;
