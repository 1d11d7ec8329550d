-- Stores the responses of those reports and releases that are written and have an Idempotency-Key. Lock order: the claims by primary
-- key.
create function rta.store_session_changes(
  p_callers rta.caller[],
  p_caller_at integer[],
  p_claims rta.claim[],
  p_outcomes rta.session_change_outcome[]
) returns void
language plpgsql as $$
begin
  perform rta.store_session_change(
    p_callers[p_caller_at[at]], p_claims[at], p_outcomes[at].session ->> 'sessionId',
    '"' || (p_outcomes[at].session ->> 'version') || '"', p_outcomes[at].session
  )
  from (
    select ordinality as at from unnest(p_claims) with ordinality claim
    where claim.request is not null and p_outcomes[ordinality].kind = 'written'
    order by p_callers[p_caller_at[ordinality]].tenant_id, p_callers[p_caller_at[ordinality]].id, claim.request,
      claim.idempotency_key
    offset 0
  ) claimed;
end $$;
