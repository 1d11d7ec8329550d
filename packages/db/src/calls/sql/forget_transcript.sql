-- Ends the keeping of a transcript. Deletes it with its segments, unless its call is open or a delivery needs it. Then
-- it is deleted at the end of the call or of the delivery. Lock order: the transcript, which the calling function has
-- locked, and its segments.
create function rta.forget_transcript(p_tenant_id text, p_session_id text) returns void
language plpgsql as $$
begin
  update public.call_transcripts set is_kept = false where tenant_id = p_tenant_id and session_id = p_session_id;
  delete from public.call_transcripts
  where tenant_id = p_tenant_id and session_id = p_session_id and receiver is null and ended_at is not null;
  if found then
    delete from public.call_segments where tenant_id = p_tenant_id and session_id = p_session_id;
  end if;
end $$;
