-- The response fields of the stored response of a claim; null without any.
create function rta.stored_response_fields(p_caller rta.caller, p_claim rta.claim) returns json
language plpgsql as $$
begin
  return (
    select response_fields from public.idempotency_claims
    where tenant_id = p_caller.tenant_id and caller_id = p_caller.id and request = p_claim.request
      and idempotency_key = p_claim.idempotency_key
  );
end $$;
