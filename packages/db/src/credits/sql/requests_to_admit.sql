-- The state of each request to open a session under the locks: its caller, the status of its avatar, a claim that an
-- earlier request has stored, and the open call that has the same token. `outcome` is provisional: 'written' when only
-- limits and credits can still refuse the request.
--
-- The rows that a request names are read by statements of one table each, by the whole primary key, because Citus plans
-- a query of several tables at each execution. With plain joins, the server would read all claims of a key: 6 ms
-- instead of 0.4 ms for 64 requests. The condition on the age of a claim is written so that no index serves it.
-- Otherwise, while the table has few claims, the server would choose the index of their times, keep that plan, and
-- later read all claims of all tenants.
create function rta.requests_to_admit(
  p_callers rta.charged_caller[],
  p_caller_at integer[],
  p_valid_until timestamptz[],
  p_requests rta.session_request[],
  p_calls rta.call_request[],       -- null when the requests start no calls
  p_claims rta.claim[],
  p_now timestamptz
) returns table (
  at integer,
  outcome rta.session_outcome,
  max_seconds bigint,
  min_seconds bigint,
  price bigint,
  start_seconds integer,
  api_key_id text,
  lineage text[],
  meters_at integer[],
  account_at integer
)
language plpgsql as $$
declare
  v_positions integer[]; -- the positions of the callers in p_callers
  v_caller rta.charged_caller;
  v_request rta.session_request;
  v_kind text;
  v_avatar record;
  v_stored rta.stored_response;
  v_session_id text; -- the open call that has the same token
  v_waiting bigint;
begin
  for v_at in 1 .. coalesce(cardinality(p_callers), 0) loop
    v_positions[p_callers[v_at].caller_at] := v_at;
  end loop;
  for v_at in 1 .. cardinality(p_requests) loop
    v_request := p_requests[v_at];
    v_caller := p_callers[v_positions[p_caller_at[v_at]]];
    v_stored := null;
    v_session_id := null;
    if v_request.avatar_id is not null then
      select status, display_name into v_avatar from public.avatars
      where tenant_id = v_caller.tenant_id and id = v_request.avatar_id and avatars.environment = v_request.environment;
    else
      select null::text as status, null::text as display_name into v_avatar;
    end if;
    if p_claims[v_at].idempotency_key is not null then
      select body_hash, status, location, etag, response_body, sealed_for, response_fields into v_stored
      from public.idempotency_claims claim
      where claim.tenant_id = v_caller.tenant_id and claim.caller_id = v_caller.api_key_id
        and claim.request = p_claims[v_at].request and claim.idempotency_key = p_claims[v_at].idempotency_key
        and now() - claim.created_at < interval '24 hours';
    end if;
    if p_calls[v_at].token_digest is not null then
      select session_id into v_session_id from public.call_agents agent
      where agent.tenant_id = v_caller.tenant_id and agent.digest = p_calls[v_at].token_digest limit 1;
    end if;
    v_kind := case
      when (p_valid_until[v_at] > p_now and v_caller.environment = v_request.environment) is not true then 'stale'
      when v_stored.body_hash is not null then 'replayed'
      when v_session_id is not null then 'same'
      when v_request.avatar_id is not null and coalesce(v_avatar.status, 'deleted') = 'deleted' then 'avatar_not_found'
      when v_request.avatar_id is not null and v_avatar.status <> 'ready' then 'avatar_not_ready'
      else 'written'
    end;
    if v_kind = 'written' and p_calls[v_at].transcript is not null then
      select count(*) into v_waiting from (
        select from public.call_transcripts waiting
        where waiting.tenant_id = v_caller.tenant_id and waiting.attempt_count > 0 limit 1000
      ) waiting;
      v_kind := case when v_waiting >= 1000 then 'too_many_transcripts' else v_kind end;
    end if;
    at := v_at;
    outcome := row(
      v_kind, null, null, null, null, /* avatar_name */ v_avatar.display_name, /* avatar_status */ v_avatar.status,
      v_stored.body_hash, v_stored.status, v_stored.location, v_stored.etag, v_stored.response_body, v_stored.sealed_for,
      v_stored.response_fields, null, null, null, v_session_id, v_request.price, null, null
    )::rta.session_outcome;
    max_seconds := v_request.max_seconds;
    min_seconds := v_request.min_seconds;
    price := v_request.price;
    start_seconds := v_request.start_seconds;
    api_key_id := v_caller.api_key_id;
    lineage := v_caller.lineage;
    meters_at := v_caller.meters_at;
    account_at := v_caller.account_at;
    return next;
  end loop;
end $$;
