-- Deletes the kept transcript of a call, and writes the audit event. Returns the outcome:
--   'written'
--   'not_kept'   nothing is written: no transcript of the call is kept
--   'not_found'  no such session exists
--   'stale'      nothing is written: the caller has changed since its look-up
-- Lock order: the caller (lock_caller), the transcript, its segments.
create function rta.delete_kept_transcript(
  p_caller rta.caller,
  p_environment text,
  p_session_id text,
  p_audit_event rta.audit_event
) returns text
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_is_kept boolean;
begin
  if v_valid_until is null then
    return 'stale';
  elsif not exists (
    select from public.usage_sessions
    where tenant_id = p_caller.tenant_id and id = p_session_id and environment = p_environment
  ) then
    return 'not_found';
  end if;
  select is_kept into v_is_kept from public.call_transcripts
  where tenant_id = p_caller.tenant_id and session_id = p_session_id
  for no key update;
  if v_valid_until <= clock_timestamp() then
    -- The caller has expired during the wait for the transcript.
    return 'stale';
  elsif v_is_kept is not true then
    return 'not_kept';
  end if;
  perform rta.forget_transcript(p_caller.tenant_id, p_session_id);
  perform rta.insert_audit_events(array[p_audit_event], null, false);
  return 'written';
end $$;
