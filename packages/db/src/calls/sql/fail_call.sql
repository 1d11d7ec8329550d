-- Ends a call whose room was not created, without a charge, and deletes the claim of its request, because errors are
-- not stored. Changes nothing when another request has created the room (confirm_room), or when the call has ended.
-- Returns whether it has ended now. It has neither transcript nor recordings: its request gets an error. Lock order:
-- the session, the call and its counters (lock_counters), the transcript, the recordings, the slot, the claim.
create function rta.fail_call(
  p_tenant_id text,
  p_session_id text,
  p_caller_id text,
  p_claim rta.claim,   -- null: no Idempotency-Key
  p_settle_entry_id text,
  p_rest_entry_id text,
  p_request_id text
) returns boolean
language plpgsql as $$
declare
  v_session public.usage_sessions;
  v_closing rta.closing;
begin
  select * into v_session from public.usage_sessions
  where tenant_id = p_tenant_id and id = p_session_id
  for no key update;
  -- Checked here, not by the query: see report_usages.
  if v_session.id is null or v_session.ended_at is not null then
    return false;
  end if;
  v_closing := rta.closing_of(
    v_session, p_caller_id, 'failed', p_settle_entry_id, p_rest_entry_id, p_request_id
  );
  v_closing.rest := 'release';
  perform rta.lock_counters(array[v_closing]);
  if not exists (
    select from public.calls
    where tenant_id = p_tenant_id and session_id = p_session_id and room = 'create' and room_number = 1
  ) then
    return false;
  end if;
  delete from public.call_transcripts where tenant_id = p_tenant_id and session_id = p_session_id;
  delete from public.call_recordings where tenant_id = p_tenant_id and session_id = p_session_id;
  delete from public.recordings where tenant_id = p_tenant_id and session_id = p_session_id;
  perform rta.close_sessions(array[v_closing], clock_timestamp());
  delete from public.idempotency_claims
  where tenant_id = p_tenant_id and caller_id = p_caller_id and request = p_claim.request
    and idempotency_key = p_claim.idempotency_key;
  return true;
end $$;
