-- Writes the recordings of a call that begins: `p_recording` has its `mode`, its `retentionDays`, and in `files`
-- `id`, `mode` and `role` of each recording.
create function rta.insert_recordings(
  p_tenant_id text, p_session_id text, p_environment text, p_created_at timestamptz, p_recording json
) returns void
language plpgsql as $$
declare
  v_until timestamptz := p_created_at + make_interval(hours => 24 * (p_recording ->> 'retentionDays')::integer);
begin
  insert into public.call_recordings (tenant_id, session_id, mode, created_at, due_at)
  values (p_tenant_id, p_session_id, p_recording ->> 'mode', p_created_at, p_created_at + interval '10 minutes');
  insert into public.recordings (tenant_id, id, environment, session_id, mode, role, status, created_at, retained_until)
  select p_tenant_id, file ->> 'id', p_environment, p_session_id, file ->> 'mode', file ->> 'role', 'pending', p_created_at, v_until
  from json_array_elements(p_recording -> 'files') file;
end $$;
