-- Calls that must end, and why; and those that have ended and still have a slot. Read without locks. `offset 0`: otherwise the
-- server may read all sessions there are.
create function rta.due_calls(p_now timestamptz, p_limit integer)
returns table (tenant_id text, session_id text, reason text)
language plpgsql stable rows 10 as $$
begin
  return query
  with open as materialized (
    select session.tenant_id, session.id, session.api_key_id, session.environment, case
      when session.ended_at is not null or session.must_end then 'user_ended'
      when session.started_at + make_interval(secs => session.reserved / session.price + 3) <= p_now then (
        select case when session.reserved / session.price < call.max_seconds then 'out_of_credits' else 'session_cap' end
        from public.calls call where call.tenant_id = session.tenant_id and call.session_id = session.id
      )
      when session.environment = 'test' and session.metadata ->> 'test_outcome' = 'worker_lost'
        and session.started_at <= p_now - interval '5 seconds' then 'failed'
    end as reason
    from fleet.avatar_slots slot
    cross join lateral (
      select * from public.usage_sessions where usage_sessions.tenant_id = slot.tenant_id and id = slot.session_id offset 0
    ) session
    where slot.session_id is not null
  ), ended_keys as materialized (
    select key.tenant_id, key.api_key_id, key.environment
    from (select distinct open.tenant_id, open.api_key_id, open.environment from open) key
    where rta.must_end_for_key(key.tenant_id, key.api_key_id, key.environment)
  )
  select open.tenant_id, open.id, coalesce(open.reason, 'user_ended')
  from open left join ended_keys key
    on key.tenant_id = open.tenant_id and key.api_key_id = open.api_key_id and key.environment = open.environment
  where open.reason is not null or key.tenant_id is not null
  limit p_limit;
end $$;
