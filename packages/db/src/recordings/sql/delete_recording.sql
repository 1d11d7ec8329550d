-- Deletes a recording with its file, and writes the audit event. With the last recording of a call, its fragments are no longer needed.
-- Returns the outcome:
--   'written'
--   'not_found'  the owner has no such recording
--   'stale'      the caller has changed since its look-up
-- Lock order: the caller (lock_caller), the row of the call in call_recordings, the recording.
create function rta.delete_recording(
  p_caller rta.caller,
  p_environment text,
  p_id text,
  p_audit_event rta.audit_event
) returns text
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_recording public.recordings;
  v_now timestamptz;
begin
  if v_valid_until is null then
    return 'stale';
  end if;
  select * into v_recording from public.recordings where tenant_id = p_caller.tenant_id and id = p_id;
  perform from public.call_recordings
  where tenant_id = p_caller.tenant_id and session_id = v_recording.session_id
  for no key update;
  select * into v_recording from public.recordings where tenant_id = p_caller.tenant_id and id = p_id for update;
  v_now := date_trunc('milliseconds', clock_timestamp());
  if v_valid_until <= v_now then
    -- The caller has expired during the wait for the recording.
    return 'stale';
  elsif v_recording.environment is distinct from p_environment then
    return 'not_found';
  end if;
  if v_recording.key is not null then
    insert into public.unneeded_files (tenant_id, key, created_at) values (v_recording.tenant_id, v_recording.key, v_now);
  end if;
  delete from public.recordings where tenant_id = v_recording.tenant_id and id = p_id;
  if v_recording.status in ('pending', 'recording', 'processing') and not exists (
    select from public.recordings
    where session_id = v_recording.session_id and tenant_id = v_recording.tenant_id
      and status in ('pending', 'recording', 'processing')
  ) then
    perform rta.forget_fragments(v_recording.tenant_id, v_recording.session_id);
  end if;
  perform rta.insert_audit_events(array[p_audit_event], null, false);
  return 'written';
end $$;
