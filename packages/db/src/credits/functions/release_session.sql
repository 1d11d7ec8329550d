-- Ends a session, and charges it once. With an Idempotency-Key, at most once. Returns one row, whose `kind` is:
--   'written'         it has ended now, or had ended before with the same charge; or it is to end (see below)
--   'replayed'        nothing is written: the stored response follows
--   'not_found'       there is no such session of the caller's tenant and environment and, unless it is the engine, lineage
--   'session_closed'  it has ended with another charge than `p_used`, before or now because its lease has expired
--   'stale'           nothing is written: the caller has changed since its look-up
-- `has_ended` is true when it has ended now.
--
-- The charge is never less than what was reported, and never more than what is held. A caller that may write usage
-- (`p_is_engine`) is charged what it says (`p_used`) or, if that is more, what was reported. Any other ends only a
-- session that
-- was never started, which is charged nothing. A started session is marked (`must_end`): it stays open, and holds its
-- credits,
-- until a release by its engine, or until the end of its lease, when it is charged what was reported. Otherwise who ends his
-- call right after a report is served and not charged. A session whose lease has expired is charged what was reported. A call ends
-- at once, whoever releases it, and `p_used` does not count: the service ends its media itself (call_closing).
--
-- Lock order: the caller (lock_caller), the session, then, if it is to be ended, its call and counters (lock_counters), the claim. The
-- clock that decides whether the caller is still valid, and whether the lease has expired, is read after the last lock
-- that can
-- be waited for.
create function rta.release_session(
  p_caller rta.caller,
  p_environment text,
  p_session_id text,
  p_is_engine boolean,
  p_used bigint,       -- null: not said
  p_reason text,
  p_settle_entry_id text,
  p_rest_entry_id text,
  p_request_id text,
  p_claim rta.claim    -- null: no Idempotency-Key
) returns table (
  kind text,
  has_ended boolean,
  session json, -- see session_record; of a replayed release, what was stored
  body_hash bytea,
  etag text
)
language plpgsql as $$
declare
  v_session public.usage_sessions;
  v_stored rta.stored_response;
  v_closing rta.closing;
  v_now timestamptz;
  v_marks boolean;
  v_is_call boolean;
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
begin
  select * into v_session from public.usage_sessions
  where v_valid_until is not null and tenant_id = p_caller.tenant_id and environment = p_environment and id = p_session_id
    and (p_is_engine or p_caller.id = any (lineage))
  for no key update;
  v_closing := rta.closing_of(v_session, p_caller.id, p_reason, p_settle_entry_id, p_rest_entry_id, p_request_id);
  v_is_call := exists (
    select from public.calls where tenant_id = v_session.tenant_id and session_id = v_session.id
  );
  -- The lock on the session keeps its lease as it is. A lease that expires during this call is left to the next one.
  v_marks := not p_is_engine and not v_is_call and v_session.started_at is not null and v_session.ended_at is null
    and v_session.expires_at > clock_timestamp();
  if v_session.id is not null and v_session.ended_at is null and not v_marks then
    perform rta.lock_counters(array[v_closing]);
  end if;
  v_now := clock_timestamp();
  v_stored := rta.stored_session_change(p_caller, p_claim);
  kind := case
    when (v_valid_until > v_now) is not true then 'stale'
    when v_stored.body_hash is not null then 'replayed'
    when v_session.id is null then 'not_found'
    else 'written'
  end;
  has_ended := kind = 'written' and v_session.ended_at is null and not v_marks;
  if kind = 'replayed' then
    select v_stored.body_hash, v_stored.etag, v_stored.response_fields into body_hash, etag, session;
  elsif kind = 'written' then
    if has_ended and v_is_call then
      v_closing := rta.call_closing(
        v_session, p_caller.id, p_reason, p_settle_entry_id, p_rest_entry_id, p_request_id, v_now
      );
      perform rta.close_sessions(array[v_closing], v_now);
    elsif has_ended then
      v_closing := rta.close_session(v_session, v_closing, p_is_engine, p_used, v_now);
    elsif v_marks and not v_session.must_end then
      update public.usage_sessions set must_end = true, reason = p_reason, version = version + 1
      where tenant_id = v_session.tenant_id and id = v_session.id;
    end if;
    -- What was reported counts here too: a figure below it is charged as much, now and when it is sent again. `reported` is
    -- null for a session that an earlier version has ended: then only the same figure is the same charge.
    if p_is_engine and not v_is_call and p_used is not null and v_closing.charged
      <> least(v_session.reserved, greatest(case when has_ended then v_session.used else v_session.reported end, p_used))
    then
      kind := 'session_closed';
    end if;
    select * into v_session from public.usage_sessions where tenant_id = v_session.tenant_id and id = v_session.id;
    session := rta.session_record(v_session);
    if kind = 'written' and p_claim.request is not null then
      perform rta.store_session_change(p_caller, p_claim, v_session.id, '"' || v_session.version || '"', session);
    end if;
  end if;
  return next;
end $$;
