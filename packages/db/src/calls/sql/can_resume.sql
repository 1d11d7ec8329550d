-- Whether the person can resume a call: it has begun, it is in a room of ours without an agent, and its avatar worker
-- can move it to another room (`RESUME` of the domain's calls/worker-sync.ts). The calling function has locked the
-- session.
create function rta.can_resume(p_session public.usage_sessions, p_now timestamptz) returns boolean
language sql stable as $$
  select p_session.ended_at is null and p_session.started_at is not null and not p_session.must_end and p_session.expires_at > p_now
    and exists (
      select from public.calls call
      join fleet.avatar_slots slot on slot.session_id = call.session_id
      join fleet.avatar_workers worker on worker.id = slot.worker_id
      where call.tenant_id = p_session.tenant_id and call.session_id = p_session.id and call.room in ('create', 'exists')
        and 'resume' = any (worker.features)
        and not exists (
          select from public.call_agents agent
          where agent.tenant_id = call.tenant_id and agent.session_id = call.session_id
        )
    )
$$;
