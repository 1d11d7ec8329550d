-- The outcome of each report or release at `p_now`, for the decisions that are the same for both: 'written' when its
-- session was found for the caller, 'replayed' when its Idempotency-Key has a stored response that is less than 24
-- hours old.
--
-- `p_valid_until`: for each caller. The calling function has locked the sessions (lock_sessions). Two requests with the
-- same claim name the same session, so they wait for its lock, and no further claim can appear. These claims are locked
-- after the session. That makes no cycle, because no other route names them.
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
  v_stored rta.stored_response[];
  v_outcomes rta.session_change_outcome[];
begin
  if p_claims is not null then
    select array(
      select stored.response from generate_subscripts(p_changes, 1) change (at)
      left join lateral (
        select row(body_hash, status, location, etag, response_body, sealed_for, response_fields)::rta.stored_response as response
        from public.idempotency_claims
        where tenant_id = p_callers[p_caller_at[at]].tenant_id and caller_id = p_callers[p_caller_at[at]].id
          and request = p_claims[at].request and idempotency_key = p_claims[at].idempotency_key
          and now() - created_at < interval '24 hours'
        limit 1 -- by the primary key, even if the table was small when the plan was made
      ) stored on true
      order by at
    ) into v_stored;
  end if;
  v_outcomes := array(
    select row(
      /* kind */ case
        when (p_valid_until[caller_at] > p_now) is not true then 'stale'
        when v_stored[at].body_hash is not null then 'replayed'
        when p_sessions[at].id is not null then 'written'
        else 'not_found'
      end,
      false, /* session */ v_stored[at].response_fields, v_stored[at].body_hash, v_stored[at].etag
    )::rta.session_change_outcome
    from unnest(p_caller_at) with ordinality change (caller_at, at)
  );
  for v_at in 1 .. cardinality(v_outcomes) loop
    continue when v_outcomes[v_at].kind <> 'not_found';
    -- If the session exists, another transaction has locked it, or an earlier change of the batch has it.
    if exists (
      select from public.usage_sessions session
      where session.tenant_id = p_callers[p_caller_at[v_at]].tenant_id and session.id = p_changes[v_at].session_id
        and session.environment = p_changes[v_at].environment
        and (p_changes[v_at].is_engine or p_callers[p_caller_at[v_at]].id = any (session.lineage))
    ) then
      v_outcomes[v_at].kind := 'stale';
    end if;
  end loop;
  return v_outcomes;
end $$;
