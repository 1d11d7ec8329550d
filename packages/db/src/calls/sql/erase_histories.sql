-- Erases the speech under way of ended calls, and their segments. Segments of a stored transcript stay. Lock order: the
-- segments, which are written only under the lock of the call. The calling function has locked the calls.
create function rta.erase_histories(p_tenant_ids text[], p_session_ids text[]) returns void
language plpgsql as $$
begin
  delete from public.call_segments segment
  using unnest(p_tenant_ids, p_session_ids) session (tenant_id, id)
  where segment.tenant_id = session.tenant_id and segment.session_id = session.id and not exists (
    select from public.call_transcripts transcript
    where transcript.tenant_id = segment.tenant_id and transcript.session_id = segment.session_id
  );
  update public.calls call set has_history = false, speaking = null
  from unnest(p_tenant_ids, p_session_ids) session (tenant_id, id)
  where call.tenant_id = session.tenant_id and call.session_id = session.id and call.has_history;
end $$;
