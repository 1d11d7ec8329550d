-- Ends an attempt to join the fragments of a call whose lease is still held, and returns whether it was held. With
-- `p_delay_ms`, another attempt follows after this time. Without it, the recordings end: see end_recordings.
-- Lock order: the row of the call in call_recordings, its recordings by primary key, the events.
create function rta.finish_recordings(
  p_tenant_id text,
  p_session_id text,
  p_lease text,
  p_delay_ms bigint,
  p_files rta.recording_file[],
  p_error_code text
) returns boolean
language plpgsql as $$
declare
  v_due_at timestamptz := date_trunc('milliseconds', clock_timestamp()) + p_delay_ms * interval '1 millisecond';
begin
  if p_delay_ms is not null then
    update public.call_recordings set lease = null, leased_until = null, due_at = v_due_at
    where tenant_id = p_tenant_id and session_id = p_session_id and lease = p_lease;
    return found;
  end if;
  perform from public.call_recordings
  where tenant_id = p_tenant_id and session_id = p_session_id and lease = p_lease
  for no key update;
  if not found then
    return false;
  end if;
  perform rta.end_recordings(p_tenant_id, p_session_id, p_files, p_error_code);
  return true;
end $$;
