-- As report_usages, for one report: its statements take less time than those for sets. The caller is locked.
-- Lock order: as there.
create function rta.report_one(
  p_caller rta.caller,
  p_valid_until timestamptz,
  p_change rta.session_change,
  p_claim rta.claim,
  p_wait boolean
) returns rta.session_change_outcome
language plpgsql as $$
declare
  v_session public.usage_sessions := rta.lock_session(p_caller, p_valid_until, p_change, p_wait);
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_outcome rta.session_change_outcome := rta.change_outcome(
    p_caller, p_valid_until, p_change, v_session, p_claim, v_now
  );
  v_reported public.usage_sessions;
begin
  if v_outcome.kind <> 'written' then
    return v_outcome;
  end if;
  update public.usage_sessions session set
    status = 'started', started_at = coalesce(session.started_at, v_now),
    used = least(session.reserved, greatest(session.used, p_change.used)), reported_by = p_caller.id,
    expires_at = v_now + make_interval(secs => p_change.lease_seconds), version = session.version + 1
  where session.tenant_id = v_session.tenant_id and session.id = v_session.id
    -- Of the variable, not the row: see report_usages.
    and v_session.ended_at is null and v_session.expires_at > v_now and not exists (
      select from public.calls where calls.tenant_id = session.tenant_id and calls.session_id = session.id
    )
  returning * into v_reported;
  if v_reported.id is null then
    v_outcome.kind := 'session_closed';
    v_outcome.session := (rta.session_records(array[v_session], null))[1];
    return v_outcome;
  end if;
  v_outcome.session := (rta.session_records(array[v_reported], array(
    select ended.api_key_id
    from rta.ended_keys(array[v_reported.tenant_id], array[v_reported.api_key_id], array[v_reported.environment]) ended
  )))[1];
  if p_claim.request is not null then
    perform rta.store_session_change(
      p_caller, p_claim, v_reported.id, '"' || v_reported.version || '"', v_outcome.session
    );
  end if;
  if v_session.started_at is null then
    perform rta.emit_sessions_started(array[v_reported]);
  end if;
  return v_outcome;
end $$;
