-- Stores the responses of the reports and releases that are written and have an Idempotency-Key: the session
-- (session_records), with the ETag of the outcome or else of its version. Lock order: the claims by primary key. The
-- calling function has locked the sessions: see change_outcomes.
create function rta.store_session_changes(
  p_callers rta.caller[],
  p_caller_at integer[],
  p_attempt_ids text[],
  p_claims rta.claim[],
  p_outcomes rta.session_change_outcome[]
) returns void
language plpgsql as $$
begin
  insert into public.idempotency_claims (
    tenant_id, caller_id, request, idempotency_key, attempt_id,
    body_hash, status, location, etag, response_body, sealed_for, response_fields, created_at
  )
  select p_callers[p_caller_at[at]].tenant_id, p_callers[p_caller_at[at]].id, request, idempotency_key,
    p_attempt_ids[at], body_hash, status, location,
    coalesce(p_outcomes[at].etag, '"' || (p_outcomes[at].session ->> 'version') || '"'),
    response_body, sealed_for, p_outcomes[at].session, date_trunc('milliseconds', now())
  from (select *, ordinality as at from unnest(p_claims) with ordinality) claim
  where request is not null and p_outcomes[at].kind = 'written'
  order by 1, 2, 3, 4
  on conflict (tenant_id, caller_id, request, idempotency_key) do update
    set attempt_id = excluded.attempt_id, body_hash = excluded.body_hash, status = excluded.status,
      location = excluded.location, etag = excluded.etag, response_body = excluded.response_body,
      sealed_for = excluded.sealed_for, response_fields = excluded.response_fields, created_at = excluded.created_at;
end $$;
