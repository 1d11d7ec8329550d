-- Returns the stored response of a report or a release with this Idempotency-Key; all null when there is none, or without
-- an Idempotency-Key. A claim older than 24 hours does not count.
--
-- The calling function has locked the session: two requests with the same claim name the same session, so they queue there,
-- and the claim that exists is all that can. So these claims come after the session, which makes no cycle: no other route
-- names them.
create function rta.stored_session_change(p_caller rta.caller, p_claim rta.claim) returns rta.stored_response
language plpgsql as $$
declare
  v_stored rta.stored_response;
begin
  if p_claim.request is not null then
    select body_hash, status, location, etag, response_body, sealed_for, response_fields into v_stored
    from public.idempotency_claims
    where tenant_id = p_caller.tenant_id and caller_id = p_caller.id and request = p_claim.request
      and idempotency_key = p_claim.idempotency_key and now() - created_at < interval '24 hours';
  end if;
  return v_stored;
end $$;
