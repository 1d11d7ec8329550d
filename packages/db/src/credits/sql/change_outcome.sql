-- What becomes of a report or a release at `p_now`, as far as it is decided alike for both: 'written' when its session is there for the
-- caller. The calling function has locked the session (lock_session).
create function rta.change_outcome(
  p_caller rta.caller,
  p_valid_until timestamptz,
  p_change rta.session_change,
  p_session public.usage_sessions,
  p_claim rta.claim,
  p_now timestamptz
) returns rta.session_change_outcome
language plpgsql as $$
declare
  v_outcome rta.session_change_outcome;
  v_stored rta.stored_response;
begin
  v_outcome.has_ended := false;
  if (p_valid_until > p_now) is not true then
    v_outcome.kind := 'stale';
    return v_outcome;
  end if;
  if p_claim.request is not null then
    v_stored := rta.stored_session_change(p_caller, p_claim);
    if v_stored.body_hash is not null then
      v_outcome.kind := 'replayed';
      v_outcome.session := v_stored.response_fields;
      v_outcome.body_hash := v_stored.body_hash;
      v_outcome.etag := v_stored.etag;
      return v_outcome;
    end if;
  end if;
  v_outcome.kind := case
    when p_session.id is not null then 'written'
    -- It is there, so another transaction has locked it.
    when exists (
      select from public.usage_sessions
      where tenant_id = p_caller.tenant_id and environment = p_change.environment and id = p_change.session_id
        and (p_change.is_engine or p_caller.id = any (lineage))
    ) then 'stale'
    else 'not_found'
  end;
  return v_outcome;
end $$;
