-- Writes the admitted sessions, their hold entries and their claims. The calling function has locked the meters and the
-- accounts, and has found no claim that is less than 24 hours old. Lock order: the claims by primary key. Every
-- function that writes these claims has locked the meter of their key.
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
    select caller.tenant_id, caller.api_key_id, claim.request, claim.idempotency_key, p_requests[ordinality].entry_id,
      body_hash, status, location, etag, response_body, sealed_for,
      coalesce(p_outcomes[ordinality].response_fields, row_to_json(row(
        /* avatarName */ p_outcomes[ordinality].avatar_name, /* reservedCreditMicros */ p_outcomes[ordinality].reserved, /* expiresAt */ p_outcomes[ordinality].expires_at
      )::rta.opened_session)),
      date_trunc('milliseconds', now())
    from unnest(p_claims) with ordinality claim
    join unnest(p_callers) caller on caller.caller_at = p_caller_at[ordinality]
    where claim.request is not null and p_outcomes[ordinality].kind = 'written'
    order by 1, 2, 3, 4
    on conflict (tenant_id, caller_id, request, idempotency_key) do update
      set attempt_id = excluded.attempt_id, body_hash = excluded.body_hash, status = excluded.status,
        location = excluded.location, etag = excluded.etag, response_body = excluded.response_body,
        sealed_for = excluded.sealed_for, response_fields = excluded.response_fields, created_at = excluded.created_at;
  end if;

  insert into public.usage_sessions (
    tenant_id, id, environment, api_key_id, lineage, avatar_id, status, reserved, price, metadata, created_at, expires_at,
    sweep_at, is_counted
  )
  select caller.tenant_id, request.id, caller.environment, caller.api_key_id, caller.lineage, avatar_id, 'reserved',
    p_outcomes[ordinality].reserved, p_outcomes[ordinality].price, metadata, created_at, p_outcomes[ordinality].expires_at,
    /* sweep_at */ p_outcomes[ordinality].expires_at, true
  from unnest(p_requests) with ordinality request
  join unnest(p_callers) caller on caller.caller_at = p_caller_at[ordinality]
  where p_outcomes[ordinality].kind = 'written';

  insert into public.credit_entries (
    tenant_id, id, environment, kind, amount, session_id, api_key_id, request_id, created_at
  )
  select caller.tenant_id, entry_id, caller.environment, 'hold', p_outcomes[ordinality].reserved, /* session_id */ request.id,
    caller.api_key_id, request_id, created_at
  from unnest(p_requests) with ordinality request
  join unnest(p_callers) caller on caller.caller_at = p_caller_at[ordinality]
  where p_outcomes[ordinality].kind = 'written';
end $$;
