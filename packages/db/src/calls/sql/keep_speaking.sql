-- When workers are lost, stores the speech under way of their avatars as the last segments of these workers. A full
-- transcript (write_transcript) gets no more segments. Lock order: the calls, which the calling function has locked;
-- the segments, which are written only under the lock of the call.
create function rta.keep_speaking(p_tenant_ids text[], p_session_ids text[]) returns void
language plpgsql as $$
begin
  insert into public.call_segments (tenant_id, session_id, generation, n, segment)
  select call.tenant_id, call.session_id, call.generation, coalesce((
      select segment.n + 1 from public.call_segments segment
      where segment.tenant_id = call.tenant_id and segment.session_id = call.session_id and segment.generation = call.generation
      order by segment.n desc limit 1
    ), 0), call.speaking
  from unnest(p_tenant_ids, p_session_ids) session (tenant_id, id)
  join public.calls call on call.tenant_id = session.tenant_id and call.session_id = session.id
  where call.speaking is not null and not exists (
    select from public.call_transcripts transcript
    where transcript.tenant_id = call.tenant_id and transcript.session_id = call.session_id and (
      transcript.is_truncated or transcript.size_bytes + octet_length(call.speaking) > 262144
    )
  ) and (
    select count(*) from public.call_segments segment
    where segment.tenant_id = call.tenant_id and segment.session_id = call.session_id
  ) < 2000;
  update public.calls call set speaking = null
  from unnest(p_tenant_ids, p_session_ids) session (tenant_id, id)
  where call.tenant_id = session.tenant_id and call.session_id = session.id and call.speaking is not null;
end $$;
