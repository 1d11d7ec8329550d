-- Calls that must end, with the reason, and calls that have ended and still have a slot. The rows are read without
-- locks. All open sessions are read by their index: with thousands of calls, that takes a tenth of the time of reading
-- each by its primary key. All keys are examined in one query.
create function rta.due_calls(p_now timestamptz, p_limit integer)
returns table (tenant_id text, session_id text, reason text)
language plpgsql stable rows 10 as $$
declare
  v_tenant_ids text[];
  v_session_ids text[];
  v_api_key_ids text[];
  v_environments text[];
  v_reasons text[];
begin
  with open as (
    select slot.tenant_id, slot.session_id, session.api_key_id, session.environment, case
      when session.id is null or session.must_end then 'user_ended'
      when session.started_at + make_interval(secs => session.reserved / session.price + 3) <= p_now then (
        -- If the call was without a worker for a while, its seconds count from a later moment.
        select case when session.reserved / session.price < call.max_seconds then 'out_of_credits' else 'session_cap' end
        from public.calls call where call.tenant_id = slot.tenant_id and call.session_id = slot.session_id
          and call.counts_from + make_interval(secs => session.reserved / session.price + 3) <= p_now
      )
      when session.environment = 'test' and session.metadata ->> 'test_outcome' = 'worker_lost'
        and session.started_at <= p_now - interval '5 seconds' then 'failed'
    end as reason
    from fleet.avatar_slots slot
    left join public.usage_sessions session
      on session.tenant_id = slot.tenant_id and session.id = slot.session_id and session.ended_at is null
    where slot.session_id is not null
  )
  select array_agg(open.tenant_id), array_agg(open.session_id), array_agg(open.api_key_id), array_agg(open.environment),
    array_agg(open.reason)
  into v_tenant_ids, v_session_ids, v_api_key_ids, v_environments, v_reasons from open;

  return query
  with open as materialized (
    select * from unnest(v_tenant_ids, v_session_ids, v_api_key_ids, v_environments, v_reasons)
      open (tenant_id, session_id, api_key_id, environment, reason)
  ), keys as (
    select distinct open.tenant_id, open.api_key_id, open.environment from open where open.api_key_id is not null
  ), ended_keys as materialized (
    select ended.* from (
      select array_agg(keys.tenant_id) as tenants, array_agg(keys.api_key_id) as ids, array_agg(keys.environment) as environments
      from keys
    ) one, rta.ended_keys(one.tenants, one.ids, one.environments) ended
  )
  select open.tenant_id, open.session_id, coalesce(open.reason, 'key_ended')
  from open left join ended_keys key
    on key.tenant_id = open.tenant_id and key.api_key_id = open.api_key_id and key.environment = open.environment
  where open.reason is not null or key.tenant_id is not null
  limit p_limit;
end $$;
