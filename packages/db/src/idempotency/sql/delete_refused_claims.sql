-- Deletes the claims of the refused writes of a batch: only successful responses are stored.
create function rta.delete_refused_claims(
  p_callers rta.caller[],
  p_caller_at integer[],            -- for each write, the position of its caller in p_callers
  p_claims rta.claim[],             -- for each write; an element is null without an Idempotency-Key
  p_audit_events rta.audit_event[], -- for each write: a stored claim with this audit event id was written by this write
  p_outcomes rta.write_outcome[]    -- for each write
) returns void
language plpgsql as $$
begin
  delete from public.idempotency_claims stored using unnest(p_claims) with ordinality claim
  where p_outcomes[claim.ordinality].kind not in ('written', 'replayed')
    and stored.tenant_id = p_callers[p_caller_at[claim.ordinality]].tenant_id
    and stored.caller_id = p_callers[p_caller_at[claim.ordinality]].id
    and stored.request = claim.request
    and stored.idempotency_key = claim.idempotency_key
    and stored.attempt_id = p_audit_events[claim.ordinality].id;
end $$;
