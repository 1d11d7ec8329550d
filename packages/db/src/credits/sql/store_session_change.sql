-- Stores the response of a report or a release under its Idempotency-Key: `p_record` (session_records), with the version of the
-- session as the `p_etag`. Lock order: the claim. The caller of this function holds the lock of the session: see stored_session_change.
create function rta.store_session_change(
  p_caller rta.caller,
  p_claim rta.claim,
  p_attempt_id text,
  p_etag text,
  p_record json
) returns void
language sql as $$
  insert into public.idempotency_claims (
    tenant_id, caller_id, request, idempotency_key, attempt_id,
    body_hash, status, location, etag, response_body, sealed_for, response_fields, created_at
  )
  values (
    p_caller.tenant_id, p_caller.id, p_claim.request, p_claim.idempotency_key, p_attempt_id,
    p_claim.body_hash, p_claim.status, p_claim.location, p_etag, p_claim.response_body,
    p_claim.sealed_for, p_record, date_trunc('milliseconds', now())
  )
  on conflict (tenant_id, caller_id, request, idempotency_key) do update
    set attempt_id = excluded.attempt_id, body_hash = excluded.body_hash, status = excluded.status,
      location = excluded.location, etag = excluded.etag, response_body = excluded.response_body,
      sealed_for = excluded.sealed_for, response_fields = excluded.response_fields, created_at = excluded.created_at
$$;
