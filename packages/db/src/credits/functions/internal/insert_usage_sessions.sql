-- Writes the sessions that are admitted, their hold entries and their claims. The calling function has locked the meters and
-- the accounts, and has found no claim that is less than 24 hours old.
-- Lock order: the claims by primary key. No other function writes these claims without the lock on the meter of their key.
create function rta.insert_usage_sessions(
  p_callers rta.charged_caller[],
  p_caller_at integer[],            -- for each request, the position of its caller
  p_requests rta.session_request[],
  p_claims rta.claim[],
  p_outcomes rta.session_outcome[]
) returns void
language plpgsql as $$
begin
  if p_claims is not null then
    insert into public.idempotency_claims (
      tenant_id, caller_id, request, idempotency_key, attempt_id,
      body_hash, status, location, etag, response_body, sealed_for, response_fields, created_at
    )
    select caller.tenant_id, caller.api_key_id, claim.request, claim.idempotency_key, claim.entry_id, claim.body_hash,
      claim.status, claim.location, claim.etag, claim.response_body, claim.sealed_for,
      json_build_object(
        'avatarName', claim.avatar_name, 'reservedCreditMicros', claim.reserved,
        'expiresAt', to_char(claim.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
      ),
      now()
    from rows from (unnest(p_claims), unnest(p_requests), unnest(p_caller_at), unnest(p_outcomes))
      claim (
        request, idempotency_key, body_hash, status, location, etag, response_body, sealed_for,
        session_id, environment, avatar_id, max_seconds, min_seconds, price, start_seconds, metadata, entry_id, request_id,
        created_at, caller_at, kind, limited_by, session_limit, reserved, expires_at, avatar_name,
        replayed_body_hash, replayed_status, replayed_location, replayed_etag, replayed_answer, replayed_sealed_for
      )
    join unnest(p_callers) caller on caller.caller_at = claim.caller_at
    where claim.request is not null and claim.kind = 'written'
    order by 1, 2, 3, 4
    on conflict (tenant_id, caller_id, request, idempotency_key) do update
      set attempt_id = excluded.attempt_id, body_hash = excluded.body_hash, status = excluded.status,
        location = excluded.location, etag = excluded.etag, response_body = excluded.response_body,
        sealed_for = excluded.sealed_for, response_fields = excluded.response_fields, created_at = excluded.created_at;
  end if;

  insert into public.usage_sessions (
    tenant_id, id, environment, api_key_id, lineage, avatar_id, status, reserved, price, metadata, created_at, expires_at,
    is_counted
  )
  select caller.tenant_id, request.id, caller.environment, caller.api_key_id, caller.lineage, avatar_id, 'reserved',
    reserved, price, metadata, created_at, expires_at, true
  from rows from (unnest(p_requests), unnest(p_caller_at), unnest(p_outcomes))
    request (
      id, environment, avatar_id, max_seconds, min_seconds, price, start_seconds, metadata, entry_id, request_id,
      created_at, caller_at
    )
  join unnest(p_callers) caller on caller.caller_at = request.caller_at
  where kind = 'written';

  insert into public.credit_entries (
    tenant_id, id, environment, kind, amount, session_id, api_key_id, request_id, created_at
  )
  select caller.tenant_id, entry_id, caller.environment, 'hold', reserved, request.id, caller.api_key_id, request_id,
    created_at
  from rows from (unnest(p_requests), unnest(p_caller_at), unnest(p_outcomes))
    request (
      id, environment, avatar_id, max_seconds, min_seconds, price, start_seconds, metadata, entry_id, request_id,
      created_at, caller_at
    )
  join unnest(p_callers) caller on caller.caller_at = request.caller_at
  where kind = 'written';
end $$;
