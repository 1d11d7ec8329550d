-- Records the usage of open sessions so far, and extends their leases. Usage is cumulative: a report that is lost, repeated or late
-- changes nothing. The first report starts the session. `mustEnd` of the session that is returned says whether the call must
-- end: a release has asked for it, its key must (ended_keys), or it has used up what it holds. With an Idempotency-Key, at most once.
-- Serves one report and a batch of concurrent ones, each of another session. Returns the outcome of each, in their order.
-- 'session_closed': nothing is written, because the session has ended, its lease has expired, or it is a call or of a video, which a
-- worker reports.
--
-- Lock order: callers (lock_caller), sessions (lock_sessions), claims, events. No meter and no account: what is reported is held
-- already. The trigger of the migration 0018 locks them at the first report of a session from before it, which comes alone.
-- One form serves one report and many. A second form for a single report would save 0.7 of 2.3 ms.
create function rta.report_usages(
  p_callers rta.caller[],           -- each caller once
  p_caller_at integer[],            -- for each report, the position of its caller in p_callers
  p_changes rta.session_change[],
  p_claims rta.claim[],             -- for each report; null when no report of the batch has an Idempotency-Key
  p_wait boolean                    -- for a batch of one: see lock_caller and lock_sessions
) returns setof rta.session_change_outcome
language plpgsql as $$
declare
  v_callers_until timestamptz[] := array(select rta.lock_caller(caller, p_wait) from unnest(p_callers) caller);
  v_valid_until timestamptz[] := array(select v_callers_until[at] from unnest(p_caller_at) at);
  -- For each report: the session before it.
  v_sessions public.usage_sessions[] := rta.lock_sessions(p_callers, p_caller_at, v_valid_until, p_changes, p_wait);
  v_reported public.usage_sessions[]; -- for each report, after it; null when nothing is written
  v_started public.usage_sessions[];
  v_shown public.usage_sessions[];    -- for each report whose session is shown
  v_records json[];
  v_outcomes rta.session_change_outcome[];
  v_now timestamptz;
  v_utc timestamp; -- a time without a zone plus an interval is immutable: see distributed.test.ts
begin
  v_now := date_trunc('milliseconds', clock_timestamp());
  v_utc := v_now at time zone 'utc';
  v_outcomes := rta.change_outcomes(p_callers, p_caller_at, v_valid_until, p_changes, v_sessions, p_claims, v_now);
  with reported as (
    update public.usage_sessions session set
      status = 'started', started_at = coalesce(session.started_at, v_now),
      used = least(session.reserved, greatest(session.used, change.used)),
      reported_by = p_callers[p_caller_at[change.ordinality]].id,
      expires_at = (v_utc + make_interval(secs => change.lease_seconds)) at time zone 'utc', version = session.version + 1
    from unnest(p_changes) with ordinality change
    where v_outcomes[change.ordinality].kind = 'written'
      and session.tenant_id = p_callers[p_caller_at[change.ordinality]].tenant_id and session.id = change.session_id
      -- Not as conditions on the row: those the server may read by an index that has all open sessions of the tenant.
      and v_sessions[change.ordinality].video_id is null and v_sessions[change.ordinality].ended_at is null and v_sessions[change.ordinality].expires_at > v_now
      and not exists (
        select from public.calls where calls.tenant_id = session.tenant_id and calls.session_id = session.id
      )
    returning change.ordinality as at, session
  )
  select array_agg(reported.session order by at) into v_reported
  from generate_subscripts(p_changes, 1) change (at) left join reported using (at);
  -- By itself: in a shard, a row in a query of tables has another type than one in a variable.
  v_shown := array(
    select case when v_outcomes[at].kind = 'written' then coalesce(v_reported[at], v_sessions[at]) end
    from generate_subscripts(p_changes, 1) at order by at
  );

  v_records := rta.session_records(v_shown, array(
    select ended.api_key_id
    from (
      select array_agg(tenant_id) as tenants, array_agg(api_key_id) as ids, array_agg(environment) as environments
      from (select distinct tenant_id, api_key_id, environment from unnest(v_reported) where id is not null) key
    ) keys, rta.ended_keys(keys.tenants, keys.ids, keys.environments) ended
  ));
  v_outcomes := array(
    select case
      when kind <> 'written' then v_outcomes[at]
      else row(
        /* kind */ case when v_reported[at].id is null then 'session_closed' else 'written' end, false, /* session */ v_records[at], null, null
      )::rta.session_change_outcome
    end
    from unnest(v_outcomes) with ordinality outcome (kind, has_ended, session, body_hash, etag, at)
    order by at
  );
  if p_claims is not null then
    perform rta.store_session_changes(
      p_callers, p_caller_at, array(select session_id from unnest(p_changes)), p_claims, v_outcomes
    );
  end if;
  v_started := array(
    select v_reported[at] from generate_subscripts(v_reported, 1) at
    where v_reported[at].id is not null and v_sessions[at].started_at is null
  );
  if cardinality(v_started) > 0 then
    perform rta.emit_sessions_started(v_started);
  end if;
  return query select * from unnest(v_outcomes);
end $$;
