-- Makes the fragments of ended calls due after ten seconds. In this time their workers can send the rest. Writes
-- nothing for calls that are not recorded (most calls). Lock order: the rows in call_recordings by primary key, their
-- recordings by primary key.
create function rta.end_call_recordings(p_tenant_ids text[], p_session_ids text[], p_now timestamptz) returns void
language plpgsql as $$
declare
  v_due_at timestamptz := p_now + interval '10 seconds';
begin
  perform from public.call_recordings
  where (tenant_id, session_id) in (select * from unnest(p_tenant_ids, p_session_ids)) and ended_at is null
  order by tenant_id, session_id for no key update;
  if not found then
    return;
  end if;
  update public.call_recordings recording set
    ended_at = p_now, due_at = v_due_at,
    worker_id = (select slot.worker_id from fleet.avatar_slots slot where slot.session_id = recording.session_id)
  from unnest(p_tenant_ids, p_session_ids) session (tenant_id, id)
  where recording.tenant_id = session.tenant_id and recording.session_id = session.id and recording.ended_at is null;
  perform from public.recordings
  where (tenant_id, session_id) in (select * from unnest(p_tenant_ids, p_session_ids))
  order by tenant_id, id for no key update;
  update public.recordings recording set
    ended_at = p_now, status = 'processing',
    retained_until = recording.retained_until + make_interval(secs => extract(epoch from p_now - recording.created_at))
  from unnest(p_tenant_ids, p_session_ids) session (tenant_id, id)
  where recording.tenant_id = session.tenant_id and recording.session_id = session.id and recording.ended_at is null;
end $$;
