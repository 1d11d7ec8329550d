-- As release_sessions, for one release: its statements take less time than those for sets. The caller is locked.
-- Lock order: as there.
create function rta.release_one(
  p_caller rta.caller,
  p_valid_until timestamptz,
  p_change rta.session_change,
  p_claim rta.claim,
  p_wait boolean
) returns rta.session_change_outcome
language plpgsql as $$
declare
  v_session public.usage_sessions := rta.lock_session(p_caller, p_valid_until, p_change, p_wait);
  v_is_call boolean := exists (
    select from public.calls where tenant_id = v_session.tenant_id and session_id = v_session.id
  );
  v_act text := rta.act_of_release(v_session, p_change, v_is_call);
  v_ends boolean := coalesce(v_act <> 'mark', false);
  v_outcome rta.session_change_outcome;
  v_now timestamptz;
begin
  if v_ends then
    perform rta.lock_counters(array[rta.closing_of(v_session, null, null, null, null, null)]);
  end if;
  v_now := date_trunc('milliseconds', clock_timestamp());
  v_outcome := rta.change_outcome(p_caller, p_valid_until, p_change, v_session, p_claim, v_now);
  if v_outcome.kind <> 'written' then
    return v_outcome;
  end if;
  if v_ends then
    perform rta.close_sessions(array[rta.released_closing(v_session, v_act, p_caller.id, p_change, v_now)], v_now);
  elsif v_act = 'mark' and not v_session.must_end then
    update public.usage_sessions session set must_end = true, reason = p_change.reason, version = session.version + 1
    where session.tenant_id = v_session.tenant_id and session.id = v_session.id;
  end if;
  select * into v_session from public.usage_sessions where tenant_id = v_session.tenant_id and id = v_session.id;
  v_outcome := rta.outcome_of_release(
    v_session, p_change, v_act, v_is_call, (rta.session_records(array[v_session], null))[1]
  );
  if v_outcome.kind = 'written' and p_claim.request is not null then
    perform rta.store_session_change(p_caller, p_claim, v_session.id, '"' || v_session.version || '"', v_outcome.session);
  end if;
  return v_outcome;
end $$;
