-- Ends a session, and charges it once. With an Idempotency-Key, at most once. Returns one row, whose `kind` is:
--   'written'         it has ended now, or had ended before with the same charge
--   'replayed'        nothing is written: the stored response follows
--   'not_found'       there is no such session of the caller's lineage, tenant and environment
--   'session_closed'  it has ended with another charge than `p_used`, before or now because its lease has expired
--   'stale'           nothing is written: the caller has changed since its look-up
-- `has_ended` is true when it has ended now.
--
-- The charge is never more than what is held. A caller that may write usage (`p_is_engine`) is charged what it says
-- (`p_used`), or what was reported. Any other is charged what was reported or, if that is more, the seconds since the start;
-- nothing if the session was never started. A session whose lease has expired is charged what was reported.
--
-- Lock order: the caller (lock_caller), the session, then its counters (lock_counters), the claim. The clock is read after
-- the last lock that can be waited for: it decides whether the caller is still valid, whether the lease has expired, and how
-- long the session has run.
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
  session rta.usage_session,
  body_hash bytea,
  etag text,
  figures json
)
language plpgsql as $$
declare
  v_session public.usage_sessions;
  v_stored public.idempotency_keys;
  v_closing rta.closing;
  v_now timestamptz;
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
begin
  select * into v_session from public.usage_sessions
  where v_valid_until is not null and tenant_id = p_caller.tenant_id and environment = p_environment and id = p_session_id
    and (p_is_engine or p_caller.id = any (lineage))
  for no key update;
  v_closing := row(
    v_session.tenant_id, v_session.environment, v_session.id, v_session.api_key_id, v_session.lineage, v_session.reserved,
    v_session.used, 'released', 'release', p_reason, p_settle_entry_id, p_rest_entry_id, p_request_id
  );
  if v_session.id is not null and v_session.ended_at is null then
    perform rta.lock_counters(array[v_closing]);
  end if;
  v_now := clock_timestamp();
  v_stored := rta.stored_session_change(p_caller, p_claim);
  kind := case
    when (v_valid_until > v_now) is not true then 'stale'
    when v_stored.request is not null then 'replayed'
    when v_session.id is null then 'not_found'
    else 'written'
  end;
  has_ended := kind = 'written' and v_session.ended_at is null;
  if has_ended then
    if v_session.expires_at <= v_now then
      v_closing.status := case when v_session.started_at is null then 'failed' else 'released' end;
      v_closing.rest := 'expire';
    elsif p_is_engine then
      v_closing.charged := least(v_session.reserved, coalesce(p_used, v_session.used));
    elsif v_session.started_at is not null then
      v_closing.charged := least(
        v_session.reserved,
        greatest(v_session.used, floor(extract(epoch from v_now - v_session.started_at)) * v_session.price)
      );
    end if;
    perform rta.close_sessions(array[v_closing], v_now);
  end if;

  if kind = 'replayed' then
    body_hash := v_stored.body_hash;
    etag := v_stored.etag;
    figures := v_stored.figures;
  elsif kind = 'written' then
    session := rta.present_session(v_session.tenant_id, v_session.id);
    if p_is_engine and p_used is not null and least(v_session.reserved, p_used) <> v_closing.charged then
      kind := 'session_closed';
    elsif p_claim.request is not null then
      perform rta.store_session_change(p_caller, p_claim, session, rta.session_figures(session));
    end if;
  end if;
  return next;
end $$;
