-- Records the usage of open sessions so far, and extends their leases. Usage is cumulative, so a lost, repeated or late
-- report changes nothing. The first report starts the session. `mustEnd` of the returned session says whether the call
-- must end: a release has asked for it, its key has ended (ended_keys), or its hold is used up. A request with an
-- Idempotency-Key takes effect at most once. Serves one report or a batch of concurrent ones of different sessions.
-- Returns the outcome of each, in their order. 'session_closed': nothing is written, because the session has ended, its
-- lease has expired, or it is a call or of a video, which a worker reports.
--
-- Lock order: callers (lock_caller), sessions (lock_sessions), claims, events. No meter or account is locked, because
-- reported usage is already held. (The trigger of the migration 0018 locks them at the first report of a session from
-- before it, which comes alone.) One form serves a single report and a batch. A second form for a single report would
-- save about a tenth of its time. The loop costs a single report less than a query of the list, and costs a batch of 32
-- the same.
create function rta.report_usages(
  p_callers rta.caller[],           -- each caller once
  p_caller_at integer[],            -- for each report, the position of its caller in p_callers
  p_changes rta.session_change[],
  p_claims rta.claim[],             -- for each report; null when no report of the batch has an Idempotency-Key
  p_wait boolean                    -- for a batch of one: see lock_caller and lock_sessions
) returns setof rta.session_change_outcome
language plpgsql as $$
declare
  v_valid_until timestamptz[] := array(select rta.lock_caller(caller, p_wait) from unnest(p_callers) caller);
  -- For each report, the session before it.
  v_sessions public.usage_sessions[] := rta.lock_sessions(p_callers, p_caller_at, v_valid_until, p_changes, p_wait);
  v_reported public.usage_sessions[]; -- the written sessions, after the report
  v_reported_at bigint[];             -- the position of the report of each
  v_session public.usage_sessions;
  v_calls text[];
  v_started public.usage_sessions[];
  v_records json[];
  v_outcomes rta.session_change_outcome[];
  v_at bigint;
  v_tenant_ids text[];
  v_api_key_ids text[];
  v_environments text[];
  v_now timestamptz;
  v_utc timestamp; -- a time without a zone plus an interval is immutable: see distributed.test.ts
begin
  v_now := date_trunc('milliseconds', clock_timestamp());
  v_utc := v_now at time zone 'utc';
  v_outcomes := rta.change_outcomes(p_callers, p_caller_at, v_valid_until, p_changes, v_sessions, p_claims, v_now);
  v_calls := rta.calls_of(v_sessions);
  if cardinality(p_changes) = 1 then
    -- A query of one table, whose plan Citus keeps.
    if v_outcomes[1].kind = 'written' and v_sessions[1].video_id is null and v_sessions[1].ended_at is null
      and v_sessions[1].expires_at > v_now and v_calls = '{}' then
      update public.usage_sessions session set
        status = 'started', started_at = coalesce(session.started_at, v_now),
        used = least(session.reserved, greatest(session.used, p_changes[1].used)),
        reported_by = p_callers[p_caller_at[1]].id,
        expires_at = (v_utc + make_interval(secs => p_changes[1].lease_seconds)) at time zone 'utc',
        version = session.version + 1
      where session.tenant_id = v_sessions[1].tenant_id and session.id = v_sessions[1].id
      returning * into v_session;
      v_reported := array[v_session];
      v_reported_at := '{1}';
    end if;
  else
    with reported as (
      update public.usage_sessions session set
        status = 'started', started_at = coalesce(session.started_at, v_now),
        used = least(session.reserved, greatest(session.used, change.used)),
        reported_by = p_callers[p_caller_at[change.ordinality]].id,
        expires_at = (v_utc + make_interval(secs => change.lease_seconds)) at time zone 'utc', version = session.version + 1
      from unnest(p_changes) with ordinality change
      where v_outcomes[change.ordinality].kind = 'written'
        and session.tenant_id = p_callers[p_caller_at[change.ordinality]].tenant_id and session.id = change.session_id
        -- Not conditions on the row, because for these the server may read an index with all open sessions of the
        -- tenant.
        and v_sessions[change.ordinality].video_id is null and v_sessions[change.ordinality].ended_at is null and v_sessions[change.ordinality].expires_at > v_now
        and session.id <> all (v_calls)
      returning change.ordinality as at, session
    )
    select array_agg(reported.at), array_agg(reported.session) into v_reported_at, v_reported from reported;
  end if;
  for v_index in 1 .. coalesce(cardinality(v_reported), 0) loop
    v_at := v_reported_at[v_index];
    if v_sessions[v_at].started_at is null then
      v_started := v_started || v_reported[v_index];
    end if;
    v_sessions[v_at] := v_reported[v_index];
    v_tenant_ids := v_tenant_ids || v_reported[v_index].tenant_id;
    v_api_key_ids := v_api_key_ids || v_reported[v_index].api_key_id;
    v_environments := v_environments || v_reported[v_index].environment;
  end loop;
  v_records := rta.session_records(v_sessions, array(
    select api_key_id from rta.ended_keys(v_tenant_ids, v_api_key_ids, v_environments)
  ));
  for v_index in 1 .. cardinality(v_outcomes) loop
    continue when v_outcomes[v_index].kind <> 'written';
    v_outcomes[v_index].session := v_records[v_index];
    if (v_index = any (v_reported_at)) is not true then
      v_outcomes[v_index].kind := 'session_closed';
    end if;
  end loop;
  if p_claims is not null then
    perform rta.store_session_changes(
      p_callers, p_caller_at, array(select session_id from unnest(p_changes)), p_claims, v_outcomes
    );
  end if;
  if cardinality(v_started) > 0 then
    perform rta.emit_sessions_started(v_started);
  end if;
  return query select * from unnest(v_outcomes);
end $$;
