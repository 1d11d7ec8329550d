-- Ends sessions, and charges each once. With an Idempotency-Key, at most once. Serves one release and a batch of concurrent ones, each
-- of another session, and answers each as if it came alone. Returns the outcome of each, in their order:
--   'written'         it has ended now, or had ended before with the same charge; or it is to end (see below)
--   'session_closed'  it has ended with another charge than `used`, before or now because its lease has expired
-- `has_ended` is true when it has ended now.
--
-- The charge is never less than what was reported, and never more than what is held. A caller that may write usage (an engine) is
-- charged what it says or, if that is more, what was reported. Any other ends only a session that was never started, which is charged
-- nothing. A started session is marked (`must_end`): it stays open, and holds its credits, until a release by its engine, or until
-- the end of its lease, when it is charged what was reported. Otherwise who ends his call right after a report is served and not
-- charged. A session whose lease has expired is charged what was reported. A call ends at once, whoever releases it, and `used` does
-- not count: the service ends its media itself (call_closing).
--
-- Lock order: callers (lock_caller), sessions (lock_sessions), then of those to be ended their calls, all meters and all accounts
-- (lock_counters), the claims, the events. The clock that decides whether a caller is still valid, and whether a lease has expired, is
-- read after the last lock that can be waited for.
create function rta.release_sessions(
  p_callers rta.caller[],           -- each caller once
  p_caller_at integer[],            -- for each release, the position of its caller in p_callers
  p_changes rta.session_change[],
  p_claims rta.claim[],             -- for each release; null when no release of the batch has an Idempotency-Key
  p_wait boolean                    -- for a batch of one: see lock_caller and lock_session
) returns setof rta.session_change_outcome
language plpgsql as $$
declare
  v_callers_until timestamptz[] := array(select rta.lock_caller(caller, p_wait) from unnest(p_callers) caller);
  v_valid_until timestamptz[] := array(select v_callers_until[at] from unnest(p_caller_at) at);
  v_sessions public.usage_sessions[];
  v_calls text[];                          -- the sessions that are calls
  v_acts text[];                           -- for each release: see act_of_release
  v_closings rta.closing[];
  v_records json[];
  v_outcomes rta.session_change_outcome[];
  v_now timestamptz;
begin
  if cardinality(p_changes) = 1 then
    return next rta.release_one(p_callers[1], v_valid_until[1], p_changes[1], p_claims[1], p_wait);
    return;
  end if;
  v_sessions := rta.lock_sessions(p_callers, p_caller_at, v_valid_until, p_changes);
  v_calls := array(
    select call.session_id from unnest(v_sessions) session
    join public.calls call on call.tenant_id = session.tenant_id and call.session_id = session.id
  );
  v_acts := array(
    select rta.act_of_release(v_sessions[at], p_changes[at], p_changes[at].session_id = any (v_calls))
    from generate_subscripts(p_changes, 1) at order by at
  );
  v_closings := array(
    select rta.closing_of(v_sessions[at], null, null, null, null, null)
    from unnest(v_acts) with ordinality act (name, at) where name in ('end', 'end call')
  );
  if cardinality(v_closings) > 0 then
    perform rta.lock_counters(v_closings);
  end if;
  v_now := date_trunc('milliseconds', clock_timestamp());
  v_outcomes := rta.change_outcomes(p_callers, p_caller_at, v_valid_until, p_changes, v_sessions, p_claims, v_now);
  v_closings := array(
    select rta.released_closing(v_sessions[at], name, p_callers[p_caller_at[at]].id, p_changes[at], v_now)
    from unnest(v_acts) with ordinality act (name, at)
    where name in ('end', 'end call') and v_outcomes[at].kind = 'written'
  );
  if cardinality(v_closings) > 0 then
    perform rta.close_sessions(v_closings, v_now);
  end if;
  if 'mark' = any (v_acts) then
    update public.usage_sessions session set must_end = true, reason = change.reason, version = session.version + 1
    from unnest(p_changes) with ordinality change
    where v_acts[change.ordinality] = 'mark' and v_outcomes[change.ordinality].kind = 'written' and not session.must_end
      and session.tenant_id = p_callers[p_caller_at[change.ordinality]].tenant_id and session.id = change.session_id;
  end if;
  v_sessions := array(
    select session from unnest(p_changes) with ordinality change
    left join public.usage_sessions session
      on v_outcomes[change.ordinality].kind = 'written'
      and session.tenant_id = p_callers[p_caller_at[change.ordinality]].tenant_id and session.id = change.session_id
    order by change.ordinality
  );
  v_records := rta.session_records(v_sessions, null);
  v_outcomes := array(
    select case
      when kind = 'written' then rta.outcome_of_release(
        v_sessions[at], p_changes[at], v_acts[at], p_changes[at].session_id = any (v_calls), v_records[at]
      )
      else v_outcomes[at]
    end
    from unnest(v_outcomes) with ordinality outcome (kind, has_ended, session, body_hash, etag, at)
    order by at
  );
  if p_claims is not null then
    perform rta.store_session_changes(p_callers, p_caller_at, p_claims, v_outcomes);
  end if;
  return query select * from unnest(v_outcomes);
end $$;
