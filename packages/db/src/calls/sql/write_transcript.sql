-- Adds segments to a call, from the place `p_first` on. Returns the next expected place. Segments that exist already
-- are skipped; after a gap nothing is written. Returns null when the worker does not have the call at this generation,
-- the call has ended, or its transcript is being sent. The last worker of a call with a transcript can add segments for
-- eight seconds after the end (see end_calls). Above 2,000 segments or 256 KiB, further segments of a transcript are
-- dropped, although the returned place counts them. A call without a transcript keeps the newest 64 segments
-- (MAX_HISTORY_SEGMENTS), of at most 256 KiB, until it ends. `p_is_complete`: no more segments follow. `p_speaking`
-- replaces the speech under way: see keep_speaking. Lock order: the call, its transcript.
create function rta.write_transcript(
  p_worker_id text,
  p_session_id text,
  p_generation integer,
  p_first integer,
  p_segments bytea[],
  p_is_complete boolean,
  p_speaking bytea
) returns integer
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_call public.calls;
  v_transcript public.call_transcripts;
  v_worker_id text;
  v_is_open boolean;
  v_next integer;
  v_rest bytea[];
  v_size_bytes integer;
  v_is_truncated boolean;
begin
  select call.* into v_call from public.calls call where call.session_id = p_session_id for no key update;
  -- Checked here, not by the query: see report_usages.
  if v_call.generation is distinct from p_generation then
    return null;
  end if;
  select transcript.* into v_transcript from public.call_transcripts transcript
  where transcript.tenant_id = v_call.tenant_id and transcript.session_id = p_session_id
  for no key update;
  v_is_open := v_call.room in ('create', 'exists', 'foreign');
  select coalesce(v_transcript.worker_id, slot.worker_id) into v_worker_id
  from (values (1)) one left join fleet.avatar_slots slot on slot.session_id = p_session_id and slot.tenant_id = v_call.tenant_id;
  if p_worker_id is distinct from v_worker_id or v_transcript.lease is not null or v_transcript.attempt_count > 0
    or v_transcript.session_id is null and not v_is_open
    or v_transcript.due_at is null and v_transcript.ended_at + interval '8 seconds' < v_now
  then
    return null;
  end if;

  v_next := coalesce((
    select segment.n + 1 from public.call_segments segment
    where segment.tenant_id = v_call.tenant_id and segment.session_id = p_session_id and segment.generation = p_generation
    order by segment.n desc limit 1
  ), 0);
  if v_transcript.is_truncated then
    v_next := p_first + cardinality(p_segments);
  elsif p_first > v_next then
    return v_next;
  end if;
  v_rest := p_segments[v_next - p_first + 1 :];
  v_size_bytes := v_transcript.size_bytes + (select coalesce(sum(octet_length(segment)), 0) from unnest(v_rest) segment);
  v_is_truncated := v_transcript.session_id is not null and (
    v_transcript.is_truncated or v_size_bytes > 262144 or (
      select count(*) from public.call_segments segment
      where segment.tenant_id = v_call.tenant_id and segment.session_id = p_session_id
    ) + cardinality(v_rest) > 2000
  );
  if not v_is_truncated then
    insert into public.call_segments (tenant_id, session_id, generation, n, segment)
    select v_call.tenant_id, p_session_id, p_generation, v_next + at - 1, segment
    from unnest(v_rest) with ordinality rest (segment, at);
  end if;
  if v_transcript.session_id is null and cardinality(v_rest) > 0 then
    delete from public.call_segments old using (
      select segment.generation, segment.n, row_number() over newest as place, sum(octet_length(segment.segment)) over newest as size
      from public.call_segments segment
      where segment.tenant_id = v_call.tenant_id and segment.session_id = p_session_id
      window newest as (order by segment.generation desc, segment.n desc)
    ) kept
    where old.tenant_id = v_call.tenant_id and old.session_id = p_session_id and old.generation = kept.generation
      and old.n = kept.n and (kept.place > 64 or kept.size > 262144);
  elsif v_transcript.session_id is not null and (cardinality(v_rest) > 0 or p_is_complete) then
    update public.call_transcripts set
      size_bytes = case when v_is_truncated then size_bytes else v_size_bytes end,
      is_truncated = v_is_truncated,
      is_complete = p_is_complete,
      -- After the end of a call, a complete transcript is due at once.
      due_at = case when p_is_complete and worker_id is not null then least(due_at, v_now) else due_at end
    where tenant_id = v_call.tenant_id and session_id = p_session_id;
  end if;
  if v_is_open then
    update public.calls set has_history = true, speaking = p_speaking
    where tenant_id = v_call.tenant_id and session_id = p_session_id and (not has_history or speaking is distinct from p_speaking);
  end if;
  return v_next + cardinality(v_rest);
end $$;
