-- Ends sessions, and charges each once. A request with an Idempotency-Key takes effect at most once. Serves one release
-- or a batch of concurrent ones of different sessions, each with the outcome that it would have alone. Returns the
-- outcome of each, in their order:
--   'written'         it has ended now, or had ended before with the same charge, or is marked to end (see below)
--   'session_closed'  it has ended with another charge than `used`, before or now because its lease has expired
-- `has_ended` is true when it has ended now.
--
-- The charge is never less than the reported usage, and never more than the hold. A caller that may write usage (an
-- engine) decides the charge by `used`, if that exceeds the reported usage. Any other caller ends only a session that
-- was never started, which is charged nothing. A started session is marked (`must_end`): it stays open and holds its
-- credits until a release by its engine, or until the end of its lease, when the reported usage is charged. Without the
-- mark, a caller who ends the call right after a report would not be charged for the time since. A session whose lease
-- has expired is charged the reported usage. A call ends at once for every caller, and `used` is ignored: the service
-- ends its media itself (used_by_clock). The release of a video's session always only marks it: its worker then cancels
-- the video, and `used` is ignored.
--
-- Lock order: callers (lock_caller), sessions (lock_sessions), then the calls, all meters and all accounts of those
-- that end (lock_counters), the claims, the events. The clock that decides whether a caller is still valid, and whether
-- a lease has expired, is read after the last lock that can cause a wait. One form serves a single release and a batch.
-- A second form for a single release was not faster.
create function rta.release_sessions(
  p_callers rta.caller[],           -- each caller once
  p_caller_at integer[],            -- for each release, the position of its caller in p_callers
  p_changes rta.session_change[],
  p_claims rta.claim[],             -- for each release; null when no release of the batch has an Idempotency-Key
  p_wait boolean                    -- for a batch of one: see lock_caller and lock_sessions
) returns setof rta.session_change_outcome
language plpgsql as $$
declare
  v_valid_until timestamptz[] := array(select rta.lock_caller(caller, p_wait) from unnest(p_callers) caller);
  v_sessions public.usage_sessions[] := rta.lock_sessions(p_callers, p_caller_at, v_valid_until, p_changes, p_wait);
  v_calls text[] := rta.calls_of(v_sessions);
  -- For each release, the change of its session; null when the session has ended or was not found. The session is
  -- locked, so no report extends its lease meanwhile. A lease that expires after this statement is left to the next
  -- call.
  v_acts text[] := array(
    select case
      when id is null or ended_at is not null then null
      when video_id is not null then 'mark'
      when id = any (v_calls) then 'end call'
      when not p_changes[at].is_engine and started_at is not null and expires_at > clock_timestamp() then 'mark'
      else 'end'
    end
    from (select *, ordinality as at from unnest(v_sessions) with ordinality) session order by at
  );
  v_closings rta.closing[] := array(
    select rta.closing_of(v_sessions[at], null, null, null, null, null)
    from unnest(v_acts) with ordinality act (name, at) where name in ('end', 'end call')
  );
  v_outcomes rta.session_change_outcome[];
  v_now timestamptz;
begin
  if cardinality(v_closings) > 0 then
    perform rta.lock_counters(v_closings);
  end if;
  v_now := date_trunc('milliseconds', clock_timestamp());
  v_outcomes := rta.change_outcomes(p_callers, p_caller_at, v_valid_until, p_changes, v_sessions, p_claims, v_now);
  v_closings := array(
    select rta.closing_of(
      v_sessions[at], p_callers[p_caller_at[at]].id, p_changes[at].reason, p_changes[at].settle_entry_id,
      p_changes[at].rest_entry_id, p_changes[at].request_id, v_now, name = 'end',
      case when name = 'end call' then rta.used_by_clock(v_sessions[at], v_now)
        when p_changes[at].is_engine then p_changes[at].used end
    )
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
  v_outcomes := rta.released_outcomes(
    p_callers, p_caller_at, p_changes, v_acts,
    v_calls || array(select id from unnest(v_sessions) session where video_id is not null), v_outcomes
  );
  if p_claims is not null then
    perform rta.store_session_changes(
      p_callers, p_caller_at, array(select session_id from unnest(p_changes)), p_claims, v_outcomes
    );
  end if;
  return query select * from unnest(v_outcomes);
end $$;
