-- Begins a single write whose caller is locked: claims its Idempotency-Key, if it has one. Returns the outcome so far:
-- 'written', 'stale' (`p_valid_until` is null or, with an Idempotency-Key, has passed), or 'replayed', with the stored
-- response.
-- Lock order: the claim.
create function rta.claim_write(
  p_caller rta.caller,
  p_valid_until timestamptz, -- until when the caller is valid; null: it is not valid
  p_claim rta.claim,         -- null without an Idempotency-Key
  p_audit_event rta.audit_event
) returns rta.write_outcome
language plpgsql as $$
declare
  v_outcomes rta.write_outcome[] := rta.all_written();
begin
  if p_valid_until is null then
    v_outcomes[1].kind := 'stale';
  elsif p_claim.request is not null then
    v_outcomes := rta.claim_idempotency_keys(
      array[p_caller], array[1], array[p_valid_until], array[p_claim], array[p_audit_event], v_outcomes
    );
  end if;
  return v_outcomes[1];
end $$;
