-- Stores the response fields that only the write knows, beside the claim that it has just written.
create function rta.store_response_fields(p_caller rta.caller, p_claim rta.claim, p_response_fields json) returns void
language plpgsql as $$
begin
  update public.idempotency_claims set response_fields = p_response_fields
  where tenant_id = p_caller.tenant_id and caller_id = p_caller.id and request = p_claim.request
    and idempotency_key = p_claim.idempotency_key;
end $$;
