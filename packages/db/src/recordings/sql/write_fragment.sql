-- Records that a fragment of the recordings of a call is stored. Returns 'written', or the reason why it is not
-- written: see accept_fragment. Lock order: the row of the call in call_recordings; its recordings, by primary key.
create function rta.write_fragment(
  p_worker_id text,
  p_session_id text,
  p_generation integer,
  p_n integer,
  p_size_bytes integer,
  p_max_bytes bigint
) returns text
language plpgsql as $$
declare
  v_recording public.call_recordings;
  v_outcome text;
begin
  select * into v_recording from public.call_recordings where session_id = p_session_id for no key update;
  v_outcome := rta.accept_fragment(v_recording, p_worker_id, p_generation, p_n, p_size_bytes, p_max_bytes);
  if v_outcome <> 'open' then
    return v_outcome;
  end if;
  insert into public.recording_fragments (tenant_id, session_id, generation, n, worker_id, size_bytes)
  values (v_recording.tenant_id, p_session_id, p_generation, p_n, p_worker_id, p_size_bytes);
  update public.call_recordings set size_bytes = size_bytes + p_size_bytes, fragment_count = fragment_count + 1
  where tenant_id = v_recording.tenant_id and session_id = p_session_id;
  if v_recording.fragment_count = 0 then
    perform from public.recordings
    where tenant_id = v_recording.tenant_id and session_id = p_session_id
    order by id for no key update;
    update public.recordings set status = 'recording'
    where tenant_id = v_recording.tenant_id and session_id = p_session_id and status = 'pending';
  end if;
  return 'written';
end $$;
