-- Returns the stored response of a report or a release with this Idempotency-Key; all null when there is none, or without
-- an Idempotency-Key. A claim older than 24 hours does not count.
--
-- The calling function has locked the session: two requests with the same claim name the same session, so they queue there,
-- and the claim that exists is all that can. So these claims come after the session, which makes no cycle: no other route
-- names them.
create function rta.stored_session_change(p_caller rta.caller, p_claim rta.claim) returns public.idempotency_keys
language plpgsql as $$
declare
  v_stored public.idempotency_keys;
begin
  if p_claim.request is not null then
    select * into v_stored from public.idempotency_keys
    where tenant_id = p_caller.tenant_id and api_key_id = p_caller.id and request = p_claim.request
      and idempotency_key = p_claim.idempotency_key and created_at > now() - interval '24 hours';
  end if;
  return v_stored;
end $$;
