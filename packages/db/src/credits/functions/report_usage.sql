-- Records the usage of an open session so far, and extends its lease. Usage is cumulative: a report that is lost,
-- repeated or late changes nothing. The first report starts the session. `must_end` of the session it returns says
-- whether the call must end: see must_end. With an Idempotency-Key, at most once. Returns one row, whose `kind` is:
--   'written'
--   'replayed'        nothing is written: the stored response follows
--   'not_found'       there is no such session in the caller's tenant and environment
--   'session_closed'  nothing is written: the session has ended, its lease has expired, or it is a call, which its worker reports
--   'stale'           nothing is written: the caller has changed since its look-up
--
-- Lock order: the caller (lock_caller), the session, the claim, the event. No meter and no account: what is reported is held
-- already. (The trigger of the migration 0018 locks them at the first report of a session from before it.)
create function rta.report_usage(
  p_caller rta.caller,
  p_environment text,
  p_session_id text,
  p_used bigint,
  p_lease_seconds integer,
  p_claim rta.claim        -- null: no Idempotency-Key
) returns table (
  kind text,
  session json, -- see session_record; of a replayed report, what was stored
  body_hash bytea,
  etag text
)
language plpgsql as $$
declare
  v_session public.usage_sessions;
  v_stored rta.stored_response;
  v_now timestamptz;
  v_starts boolean;
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
begin
  select * into v_session from public.usage_sessions
  where v_valid_until is not null and tenant_id = p_caller.tenant_id and environment = p_environment and id = p_session_id
  for no key update;
  v_now := date_trunc('milliseconds', clock_timestamp());
  v_stored := rta.stored_session_change(p_caller, p_claim);
  kind := case
    when (v_valid_until > v_now) is not true then 'stale'
    when v_stored.body_hash is not null then 'replayed'
    when v_session.id is null then 'not_found'
    when v_session.ended_at is not null or v_session.expires_at <= v_now or exists (
      select from public.calls where tenant_id = v_session.tenant_id and session_id = v_session.id
    ) then 'session_closed'
    else 'written'
  end;
  if kind = 'replayed' then
    body_hash := v_stored.body_hash;
    etag := v_stored.etag;
    session := v_stored.response_fields;
  elsif kind = 'session_closed' then
    session := rta.session_record(v_session);
  elsif kind = 'written' then
    v_starts := v_session.started_at is null;
    update public.usage_sessions set
      status = 'started', started_at = coalesce(started_at, v_now),
      used = least(reserved, greatest(used, p_used)), reported_by = p_caller.id,
      expires_at = v_now + make_interval(secs => p_lease_seconds), version = version + 1
    where tenant_id = v_session.tenant_id and id = v_session.id
    returning * into v_session;
    v_session.must_end := rta.must_end(v_session);
    session := rta.session_record(v_session);
    if p_claim.request is not null then
      perform rta.store_session_change(p_caller, p_claim, v_session.id, '"' || v_session.version || '"', session);
    end if;
    if v_starts then
      perform rta.emit_session_started(v_session);
    end if;
  end if;
  return next;
end $$;
