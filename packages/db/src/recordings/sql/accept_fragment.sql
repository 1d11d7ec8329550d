-- Whether a fragment of the recordings of a call can be written:
--   'open'     yes
--   'stored'   it is already stored
--   'full'     the recordings of the call have `p_max_bytes`, or more fragments than the time since its start allows: 64,
--              and one more for each five seconds
--   'foreign'  the worker does not have the call at this generation, and has sent no earlier fragment of it; or the call is not recorded
--   'closed'   the fragments are being joined
-- A worker can send the rest of its generation after the call has gone to another worker, or has ended, until the fragments are joined.
create function rta.accept_fragment(
  p_recording public.call_recordings,
  p_worker_id text,
  p_generation integer,
  p_n integer,
  p_size_bytes integer,
  p_max_bytes bigint
) returns text
language plpgsql stable as $$
declare
  v_seconds integer := extract(epoch from clock_timestamp() - p_recording.created_at);
  v_generation integer;
  v_worker_id text := p_recording.worker_id;
begin
  if p_recording.session_id is null then
    return 'foreign';
  end if;
  select generation into v_generation from public.calls
  where tenant_id = p_recording.tenant_id and session_id = p_recording.session_id;
  if v_worker_id is null then
    select worker_id into v_worker_id from fleet.avatar_slots
    where session_id = p_recording.session_id and tenant_id = p_recording.tenant_id;
  end if;
  if (v_generation = p_generation and v_worker_id = p_worker_id) is not true and not exists (
    select from public.recording_fragments
    where tenant_id = p_recording.tenant_id and session_id = p_recording.session_id and generation = p_generation
      and worker_id = p_worker_id
  ) then
    return 'foreign';
  end if;
  return case
    when exists (
      select from public.recording_fragments
      where tenant_id = p_recording.tenant_id and session_id = p_recording.session_id and generation = p_generation and n = p_n
    ) then 'stored'
    when p_recording.lease is not null or p_recording.attempt_count > 0 then 'closed'
    when p_recording.size_bytes + p_size_bytes > p_max_bytes or p_recording.fragment_count >= 64 + v_seconds / 5 then 'full'
    else 'open'
  end;
end $$;
