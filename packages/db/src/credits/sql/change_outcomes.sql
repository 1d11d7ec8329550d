-- What becomes of each report or release at `p_now`, as far as it is decided alike for both: 'written' when its session is there for the
-- caller. The calling function has locked the sessions (lock_sessions).
create function rta.change_outcomes(
  p_callers rta.caller[],
  p_caller_at integer[],
  p_valid_until timestamptz[],
  p_changes rta.session_change[],
  p_sessions public.usage_sessions[],
  p_claims rta.claim[],
  p_now timestamptz
) returns rta.session_change_outcome[]
language plpgsql as $$
declare
  v_stored rta.stored_response[] := array(
    select case
      when p_claims[change.ordinality].request is not null
        then rta.stored_session_change(p_callers[p_caller_at[change.ordinality]], p_claims[change.ordinality])
    end
    from unnest(p_changes) with ordinality change order by change.ordinality
  );
begin
  return array(
    select row(
      case
        when (p_valid_until[change.ordinality] > p_now) is not true then 'stale'
        when v_stored[change.ordinality].body_hash is not null then 'replayed'
        when p_sessions[change.ordinality].id is not null then 'written'
        -- It is there, so another transaction has locked it, or an earlier change of the batch has it.
        when exists (
          select from public.usage_sessions session
          where session.tenant_id = p_callers[p_caller_at[change.ordinality]].tenant_id and session.id = change.session_id
            and session.environment = change.environment
            and (change.is_engine or p_callers[p_caller_at[change.ordinality]].id = any (session.lineage))
        ) then 'stale'
        else 'not_found'
      end,
      false, v_stored[change.ordinality].response_fields, v_stored[change.ordinality].body_hash, v_stored[change.ordinality].etag
    )::rta.session_change_outcome
    from unnest(p_changes) with ordinality change
    order by change.ordinality
  );
end $$;
