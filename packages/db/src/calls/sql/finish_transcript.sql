-- Ends an attempt to send a transcript if its lease is still held. Returns whether the lease was held. With
-- `p_delay_ms`, the transcript is sent again after that time. Without it, the transcript was delivered or is given up:
-- its receiver is deleted, or the whole transcript unless it is kept. Lock order: the transcript, its segments, which
-- are written only under the lock of the transcript.
create function rta.finish_transcript(
  p_tenant_id text,
  p_session_id text,
  p_lease text,
  p_delay_ms bigint,
  p_is_attempt boolean -- whether anything was sent
) returns boolean
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_due_at timestamptz := v_now + p_delay_ms * interval '1 millisecond';
begin
  if p_delay_ms is not null then
    update public.call_transcripts set
      lease = null, leased_until = null, due_at = v_due_at,
      attempt_count = attempt_count + case when p_is_attempt then 1 else 0 end
    where tenant_id = p_tenant_id and session_id = p_session_id and lease = p_lease;
    return found;
  end if;
  update public.call_transcripts set receiver = null, due_at = null, lease = null, leased_until = null, attempt_count = 0
  where tenant_id = p_tenant_id and session_id = p_session_id and lease = p_lease and is_kept;
  if found then
    return true;
  end if;
  delete from public.call_transcripts where tenant_id = p_tenant_id and session_id = p_session_id and lease = p_lease;
  if not found then
    return false;
  end if;
  delete from public.call_segments where tenant_id = p_tenant_id and session_id = p_session_id;
  return true;
end $$;
