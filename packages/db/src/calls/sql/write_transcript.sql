-- Adds segments to the transcript of a call, from its place `p_first` on, and returns the place that is expected next: those that are
-- there already are left, and after a gap nothing is written. Null: the worker does not have the call at this generation, the call has no
-- transcript, or its transcript is being sent. The last worker of a call can add what was said until its end,
-- for eight seconds after it (see end_calls).
-- With 2,000 segments or 256 KiB, what follows is left out: the worker is told that it was written. `p_is_complete`: nothing more comes.
-- Lock order: the transcript.
create function rta.write_transcript(
  p_worker_id text,
  p_session_id text,
  p_generation integer,
  p_first integer,
  p_segments bytea[],
  p_is_complete boolean
) returns integer
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_transcript public.call_transcripts;
  v_next integer;
  v_rest bytea[];
  v_size_bytes integer;
  v_is_truncated boolean;
begin
  select transcript.* into v_transcript
  from public.calls call
  join public.call_transcripts transcript
    on transcript.tenant_id = call.tenant_id and transcript.session_id = call.session_id
  where call.session_id = p_session_id and call.generation = p_generation
  for no key update of transcript;
  if v_transcript.session_id is null or v_transcript.lease is not null or v_transcript.attempt_count > 0
    or v_transcript.due_at is null and v_transcript.ended_at + interval '8 seconds' < v_now
    or p_worker_id is distinct from coalesce(v_transcript.worker_id, (
      select slot.worker_id from fleet.avatar_slots slot
      where slot.session_id = p_session_id and slot.tenant_id = v_transcript.tenant_id
    ))
  then
    return null;
  end if;

  v_next := coalesce((
    select segment.n + 1 from public.call_segments segment
    where segment.tenant_id = v_transcript.tenant_id and segment.session_id = p_session_id and segment.generation = p_generation
    order by segment.n desc limit 1
  ), 0);
  if v_transcript.is_truncated then
    v_next := p_first + cardinality(p_segments);
  elsif p_first > v_next then
    return v_next;
  end if;
  v_rest := p_segments[v_next - p_first + 1 :];
  v_size_bytes := v_transcript.size_bytes + (select coalesce(sum(octet_length(segment)), 0) from unnest(v_rest) segment);
  v_is_truncated := v_transcript.is_truncated or v_size_bytes > 262144 or (
    select count(*) from public.call_segments segment
    where segment.tenant_id = v_transcript.tenant_id and segment.session_id = p_session_id
  ) + cardinality(v_rest) > 2000;
  if not v_is_truncated then
    insert into public.call_segments (tenant_id, session_id, generation, n, segment)
    select v_transcript.tenant_id, p_session_id, p_generation, v_next + at - 1, segment
    from unnest(v_rest) with ordinality rest (segment, at);
  end if;
  if cardinality(v_rest) > 0 or p_is_complete then
    update public.call_transcripts set
      size_bytes = case when v_is_truncated then size_bytes else v_size_bytes end,
      is_truncated = v_is_truncated,
      is_complete = p_is_complete,
      -- Of a call that has ended, nothing more is waited for.
      due_at = case when p_is_complete and worker_id is not null then least(due_at, v_now) else due_at end
    where tenant_id = v_transcript.tenant_id and session_id = p_session_id;
  end if;
  return v_next + cardinality(v_rest);
end $$;
