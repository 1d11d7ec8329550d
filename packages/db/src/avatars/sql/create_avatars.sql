-- Creates avatars with their jobs, audit events and claims, for one request or for a batch of concurrent ones. Returns the
-- outcome of each create, in the order of `p_avatars`.
--
-- Lock order: callers (lock_caller), claims, source assets (check_sources), then the new rows, which no other request
-- can name. One form serves a single create and a batch. A second branch with scalar statements made a single create no
-- faster.
create function rta.create_avatars(
  p_callers rta.caller[],           -- each caller once
  p_caller_at integer[],            -- for each avatar, the position of its caller in p_callers
  p_avatars rta.avatar[],
  p_jobs rta.job[],                 -- for each avatar, null without a source; null when no avatar of the batch has a source
  p_audit_events rta.audit_event[], -- for each avatar
  p_claims rta.claim[],             -- for each avatar; null when no create of the batch has an Idempotency-Key
  p_wait boolean                    -- see lock_caller
) returns setof rta.write_outcome
language plpgsql as $$
declare
  v_callers_until timestamptz[] := array(select rta.lock_caller(caller, p_wait) from unnest(p_callers) caller);
  v_valid_until timestamptz[] := array(select v_callers_until[at] from unnest(p_caller_at) at); -- for each avatar, its caller
  v_outcomes rta.write_outcome[];
begin
  -- A create is 'written' unless a check below refuses it. The INSERT writes the rows that are 'written'.
  for v_at in 1 .. cardinality(p_avatars) loop
    v_outcomes[v_at].kind := case when v_valid_until[v_at] is null then 'stale' else 'written' end;
  end loop;
  if p_claims is not null then
    v_outcomes := rta.claim_idempotency_keys(
      p_callers, p_caller_at, v_valid_until, p_claims, p_audit_events, v_outcomes
    );
  end if;
  if p_jobs is not null then
    v_outcomes := rta.check_sources(
      p_callers, p_caller_at, v_valid_until, p_avatars, p_claims, p_audit_events, v_outcomes
    );
  end if;

  -- Only this function lists the columns, in the order of types.sql.
  insert into public.avatars (
    tenant_id, id, environment, display_name, source_kind, model_id, status, source_asset_id, pending_source_asset_id,
    default_voice_id, generation, error, checks, preview_token, preview_file, cache_manifest_id, cache_version, settings,
    metadata, version, created_at, updated_at
  )
  select avatar.* from unnest(array(
    select p_avatars[at] from generate_subscripts(p_avatars, 1) at where v_outcomes[at].kind = 'written'
  )) avatar;

  if p_jobs is not null then
    insert into public.jobs (tenant_id, id, environment, kind, target_id, generation, run_at, created_at)
    select tenant_id, id, environment, kind, target_id, generation, run_at, date_trunc('milliseconds', clock_timestamp())
    from unnest(p_jobs) with ordinality
    where id is not null and v_outcomes[ordinality].kind = 'written';
  end if;
  perform rta.insert_audit_events(p_audit_events, v_outcomes, true);
  return query select * from unnest(v_outcomes);
end $$;
